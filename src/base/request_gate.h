#pragma once
// Counts what is inside and can be closed: nothing enters any more, and whoever closes waits until the last one has
// left.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace assay {

// Thread-safe.
class RequestGate {
 public:
  // Holds a place inside for its life. False when the gate was closed.
  class Pass {
   public:
    explicit Pass(RequestGate& gate) : gate_(gate), inside_(gate.enter()) {}
    ~Pass() {
      if (inside_) gate_.leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    explicit operator bool() const { return inside_; }

   private:
    RequestGate& gate_;
    const bool inside_;
  };

  std::size_t inside() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return inside_;
  }
  bool closed() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return closed_;
  }
  // As below, but gives up waiting after so long; true when the last one has left.
  bool close_and_wait_ms(double ms) {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    return changed_.wait_for(lock, std::chrono::duration<double, std::milli>(ms), [this] { return inside_ == 0; });
  }
  // Idempotent. REQUIRES: the caller is not inside.
  void close_and_wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  bool enter() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return false;
    inside_++;
    return true;
  }
  void leave() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      inside_--;
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t inside_ = 0;
  bool closed_ = false;
};

}  // namespace assay
