#pragma once
// One at a time on this machine's cores: two computations side by side take several times as long as one after the
// other. Whoever computes in steps holds the gate for each of them; those who wait get it in the order in which they
// came. One guest, whose computation has no steps that could be told, pauses instead: it calls pause_point() as often
// as it can, and stands still there while the gate is held. What it does between two of them, of whatever kind, is a
// piece of its work that a turn waits for, as long as pieces of that length have come of late.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace assay {

// Thread-safe. pause_point() is for one thread at a time.
class ComputeGate {
 public:
  // `clock` (nullptr: the system's steady one) must outlive this.
  explicit ComputeGate(const Clock* clock = nullptr);
  ComputeGate(const ComputeGate&) = delete;
  ComputeGate& operator=(const ComputeGate&) = delete;

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

  // The guest is between two pieces of its work. Returns at once unless a turn is held or waited for; then when that
  // turn has ended. A turn begins when the guest has paused, or when it has been silent for longer than its pieces
  // take: then it computes nothing. Its first piece after such a silence is the only one that can run beside a turn.
  // After a turn that kept it waiting the guest may go on for kGuestShare of that turn's time before the next begins.
  void pause_point();
  static constexpr double kGuestShare = 1.0 / 3;
  // The guest has no work: until it passes a pause point again nobody waits for it. Thread-safe.
  void guest_left();

  // Those who wait for their turn now.
  std::size_t waiting() const;
  // Whether the guest stands still now.
  bool guest_paused() const;
  // When the guest last passed a pause point, as the clock's now_ns(); 0: never, or it has left.
  std::int64_t guest_seen_ns() const { return seen_ns_.load(); }

 private:
  void enter();
  void leave();
  void see_guest();
  std::int64_t patience_ns() const;

  const Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows, but for the atomics
  std::condition_variable changed_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
  std::uint64_t turns_ended_ = 0;
  bool paused_ = false;
  std::int64_t turn_began_ns_ = 0;
  std::int64_t guest_until_ns_ = 0;  // the guest's share of the time lasts until then
  std::atomic<bool> wanted_{false};  // the guest is to pause
  std::atomic<std::int64_t> seen_ns_{0};
  std::atomic<std::int64_t> longest_piece_ns_{0};  // of late
};

}  // namespace assay
