// HTTP threads wait in Decider::decide() while the decider drains, so the listener, whose stop() waits for those
// threads, comes last: stopped first, it would wait for answers that nothing limits.
#include "server/shutdown.h"

#include <chrono>
#include <utility>

namespace assay::server {

void shut_down(Routes& routes, Decider& decider, const std::function<void()>& stop_listener, double grace_ms) {
  // No new work.
  routes.set_draining();
  // What was accepted is answered, one way or the other.
  decider.drain(grace_ms);
  // The replies are written.
  stop_listener();
}

ExitLimit::ExitLimit(std::function<void()> on_late) : on_late_(std::move(on_late)) {}

ExitLimit::~ExitLimit() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    called_off_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ExitLimit::start(double ms) {
  thread_ = std::thread([this, ms] { wait(ms); });
}

void ExitLimit::wait(double ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::chrono::duration<double, std::milli> limit(ms);
  if (changed_.wait_for(lock, limit, [this] { return called_off_; })) return;
  lock.unlock();
  on_late_();
}

}  // namespace assay::server
