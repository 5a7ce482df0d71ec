#pragma once
// The requests that another server answers at this moment: counted, so that they can be waited for, and told when they
// are to be given up.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/clock.h"

namespace assay::server {

// Thread-safe. Outlives its calls.
class ChatCalls {
 public:
  // One request at work, for its life.
  class Call {
   public:
    Call(ChatCalls& calls, std::uint64_t number, std::function<bool()> disconnected)
        : calls_(calls), number_(number), disconnected_(std::move(disconnected)) {}
    ~Call() { calls_.end(number_); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Its client has gone, or all calls are given up.
    bool is_over() const { return calls_.given_up_.load() || (disconnected_ && disconnected_()); }

   private:
    ChatCalls& calls_;
    const std::uint64_t number_;
    const std::function<bool()> disconnected_;
  };

  // `clock` (nullptr: the system's steady one) must outlive this.
  explicit ChatCalls(const Clock* clock = nullptr);

  // Called each time the last call at work has ended, under a lock: it must not come back here. Before the first call.
  void on_idle(std::function<void()> call) { on_idle_ = std::move(call); }

  // nullptr once closed.
  std::shared_ptr<Call> begin(std::function<bool()> disconnected);
  // Takes no more, waits up to grace_ms for those at work, then tells them that they are over, calls
  // `on_give_up` if there still are any, and waits for their end. Idempotent.
  void close(double grace_ms, const std::function<void()>& on_give_up = {});

  std::size_t in_flight() const;
  // How long the oldest of those at work is; 0: none is.
  double oldest_ms() const;
  double ms_since(std::int64_t ns) const { return clock_.ms_since(ns); }

 private:
  void end(std::uint64_t number);

  const Clock& clock_;
  std::function<void()> on_idle_;
  std::atomic<bool> given_up_{false};
  std::atomic<std::uint64_t> numbers_{0};
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool closed_ = false;
  std::map<std::uint64_t, std::int64_t> began_ns_;  // by number, so the oldest is first
};

}  // namespace assay::server
