#include "server/llama/chat_calls.h"

#include <chrono>
#include <utility>

namespace assay::server {

ChatCalls::ChatCalls(const Clock* clock) : clock_(clock != nullptr ? *clock : steady_clock()) {}

std::shared_ptr<ChatCalls::Call> ChatCalls::begin(std::function<bool()> disconnected) {
  const std::uint64_t number = numbers_.fetch_add(1);
  auto call = std::make_shared<Call>(*this, number, std::move(disconnected));
  bool closed = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed = closed_;
    if (!closed) began_ns_.emplace(number, clock_.now_ns());
  }
  if (closed) call.reset();
  return call;
}

void ChatCalls::end(std::uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // One that was refused was never at work.
  if (began_ns_.erase(number) > 0 && began_ns_.empty() && on_idle_) on_idle_();
  changed_.notify_all();
}

void ChatCalls::close(double grace_ms, const std::function<void()>& on_give_up) {
  std::unique_lock<std::mutex> lock(mutex_);
  closed_ = true;
  const auto none = [this] { return began_ns_.empty(); };
  changed_.wait_for(lock, std::chrono::duration<double, std::milli>(grace_ms), none);
  given_up_.store(true);
  if (none()) return;
  lock.unlock();
  if (on_give_up) on_give_up();
  lock.lock();
  changed_.wait(lock, none);
}

std::size_t ChatCalls::in_flight() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return began_ns_.size();
}

double ChatCalls::oldest_ms() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return began_ns_.empty() ? 0 : clock_.ms_since(began_ns_.begin()->second);
}

}  // namespace assay::server
