#pragma once
// How a server ends: in which order, and by when at the latest.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "assay/decider.h"
#include "server/routes.h"

namespace assay::server {

// Ends a server so that every request gets an answer: new decisions are refused with 503 (as are health and ping, so
// that a balancer looks elsewhere) while the listener still listens; accepted ones are answered, or get 503 when they
// are not computed within `grace_ms`; only then is `stop_listener` called, which waits until the replies are written.
// Call it once, from a thread that serves no request.
void shut_down(Routes& routes, Decider& decider, const std::function<void()>& stop_listener, double grace_ms);

// A last resort, for what no order of steps can bound: a client that neither reads nor writes, a decode that hangs.
// Thread-safe.
class ExitLimit {
 public:
  // `on_late` is called from another thread, at most once; it usually ends the process.
  explicit ExitLimit(std::function<void()> on_late);
  // Calls it off. A call of `on_late` that has begun is waited for.
  ~ExitLimit();
  ExitLimit(const ExitLimit&) = delete;
  ExitLimit& operator=(const ExitLimit&) = delete;

  // `on_late` is called unless this object is destroyed within `ms` from now. Call it once.
  void start(double ms);

 private:
  void wait(double ms);

  const std::function<void()> on_late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool called_off_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace assay::server
