#pragma once
// A first-in first-out queue with a limit. At the limit try_push refuses; nothing is ever dropped.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace assay {

enum class PushOutcome { kAccepted, kFull, kClosed };

// Thread-safe.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t items_max) : items_max_(items_max) {}

  // Takes the item only when it answers kAccepted.
  PushOutcome try_push(T&& item) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (closed_) return PushOutcome::kClosed;
      if (items_.size() >= items_max_) return PushOutcome::kFull;
      items_.push_back(std::move(item));
    }
    changed_.notify_one();
    return PushOutcome::kAccepted;
  }

  // Waits for an item. Nothing only when the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  // No more pushes; what is inside can still be popped. Idempotent.
  void close() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  std::size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return items_.size();
  }

 private:
  const std::size_t items_max_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace assay
