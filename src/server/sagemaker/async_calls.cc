#include "server/sagemaker/async_calls.h"

#include <utility>

namespace assay::server {

AsyncCalls::AsyncCalls(const AsyncLimits& limits, const Clock& clock) : limits_(limits), clock_(clock) {}

AsyncCalls::~AsyncCalls() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status AsyncCalls::start(const std::string& id, std::function<HttpReply()> call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_old();
  if (calls_.size() - done_.size() >= limits_.waiting_max) {
    return Error{ErrorCode::kOverloaded, "too many asynchronous calls wait", ""};
  }
  const auto [place, is_new] = calls_.try_emplace(id);
  if (!is_new) return invalid_argument("InferenceId", "InferenceId: there is a call with this id");
  place->second.work = std::move(call);
  waiting_.push_back(id);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
  return {};
}

AsyncCalls::Found AsyncCalls::find(std::string_view id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_old();
  const auto found = calls_.find(id);
  if (found == calls_.end()) return {};
  if (!found->second.reply.has_value()) return {.state = State::kWaiting, .reply = {}};
  return {.state = State::kDone, .reply = *found->second.reply};
}

void AsyncCalls::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    const std::string id = std::move(waiting_.front());
    waiting_.pop_front();
    const std::function<HttpReply()> call = std::exchange(calls_.at(id).work, nullptr);
    lock.unlock();
    HttpReply reply = call();
    lock.lock();
    Call& done = calls_.at(id);
    done.reply = std::move(reply);
    done.done_ns = clock_.now_ns();
    done_.push_back(id);
    drop_old();
  }
}

// REQUIRES: the lock is held.
void AsyncCalls::drop_old() {
  const auto is_old = [this] {
    return done_.size() > limits_.kept_max ||
           clock_.ms_since(calls_.at(done_.front()).done_ns) >= limits_.kept_seconds * 1e3;
  };
  while (!done_.empty() && is_old()) {
    calls_.erase(done_.front());
    done_.pop_front();
  }
}

}  // namespace assay::server
