#pragma once
// Connections that wait for their next request. One thread watches all of them, so an idle one costs a file descriptor
// and some hundred bytes, and no thread.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/http/connection.h"

namespace assay::server {

// Thread-safe.
class IdleConnections {
 public:
  // `on_ready` gets each connection on which something came, be it its end; it is called from the watching thread and
  // must not wait.
  explicit IdleConnections(std::function<void(std::unique_ptr<Connection>)> on_ready);
  // As stop().
  ~IdleConnections();
  IdleConnections(const IdleConnections&) = delete;
  IdleConnections& operator=(const IdleConnections&) = delete;

  // Watches it, and closes it when nothing comes for so long. After stop() it is closed at once.
  void add(std::unique_ptr<Connection> connection, double seconds_max);
  // Closes all of them. Idempotent.
  void stop();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Entry {
    std::unique_ptr<Connection> connection;
    Time closes_at;
  };

  void watch();
  void wake() const;
  void drain_wakes() const;
  std::vector<Entry> take_added();

  const std::function<void(std::unique_ptr<Connection>)> on_ready_;
  int wake_read_ = -1;  // a pipe: its bytes say that something was added, or that the end has come
  int wake_write_ = -1;
  std::mutex mutex_;          // guards the next two
  std::vector<Entry> added_;  // not yet seen by the watching thread
  bool stopped_ = false;
  std::once_flag joined_;
  std::thread thread_;
};

}  // namespace assay::server
