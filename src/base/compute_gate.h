#pragma once
// One at a time on this machine's cores: two computations side by side take several times as long as one after the
// other. Whoever computes a step holds the gate for it; those who wait get it in the order in which they came.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace assay {

// Thread-safe.
class ComputeGate {
 public:
  // Holds the gate for its life.
  class Turn {
   public:
    explicit Turn(ComputeGate* gate) : gate_(gate) {
      if (gate_ != nullptr) gate_->enter();
    }
    ~Turn() {
      if (gate_ != nullptr) gate_->leave();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    ComputeGate* const gate_;  // nullptr: nobody else computes
  };

  // Those who wait for their turn now.
  std::size_t waiting() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::uint64_t came = next_ticket_ - serving_;
    return came > 0 ? static_cast<std::size_t>(came - 1) : 0;
  }

 private:
  void enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t ticket = next_ticket_++;
    changed_.wait(lock, [this, ticket] { return serving_ == ticket; });
  }
  void leave() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      serving_++;
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace assay
