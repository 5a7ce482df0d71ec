#pragma once
// The threads that serve connections: as many as there are requests at work, up to a limit.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "server/http/connection.h"

namespace assay::server {

struct WorkerLimits {
  std::size_t threads_kept = 64;   // these stay when there is nothing to do
  std::size_t threads_max = 1088;  // more come while all are busy
  std::size_t waiting_max = 1024;  // connections that may wait for a thread when all of these are busy
  double idle_seconds_max = 5;     // how long a thread above `threads_kept` waits for something to do
};

// Thread-safe.
class ConnectionWorkers {
 public:
  // `serve` is called from many threads at once; it lets no exception out.
  ConnectionWorkers(const WorkerLimits& limits, std::function<void(std::unique_ptr<Connection>)> serve);
  // As finish().
  ~ConnectionWorkers();
  ConnectionWorkers(const ConnectionWorkers&) = delete;
  ConnectionWorkers& operator=(const ConnectionWorkers&) = delete;

  // Has it served soon; nothing comes back. It comes back when too many wait, or after finish().
  [[nodiscard]] std::unique_ptr<Connection> add(std::unique_ptr<Connection> connection);
  // Serves what was added, then ends the threads. Idempotent. Do not call it from `serve`.
  void finish();

 private:
  using Threads = std::list<std::thread>;

  void start_thread();
  void work(Threads::iterator self);

  const WorkerLimits limits_;
  const std::function<void(std::unique_ptr<Connection>)> serve_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Connection>> waiting_;
  std::size_t idle_ = 0;  // threads that wait for something to do
  Threads threads_;
  Threads ended_;  // to be joined
  bool finishing_ = false;
};

}  // namespace assay::server
