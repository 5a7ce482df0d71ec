#include "base/compute_gate.h"

#include <algorithm>
#include <chrono>

namespace assay {
namespace {

// How long a silence may last and still be a piece of the guest's work.
constexpr std::int64_t kLeastPatienceNs = 200'000;
constexpr std::int64_t kLongestPieceNs = 100'000'000;
// The longest piece is forgotten in about this time of the guest's work, so that one slow piece does not count for
// ever, and one that comes once in hundreds (what a chat does between two graphs: its sampling) still does.
constexpr std::int64_t kForgettingNs = 500'000'000;
// While a turn waits for the guest it looks again at least this often.
constexpr std::int64_t kLookAgainNs = 5'000'000;

}  // namespace

ComputeGate::ComputeGate(const Clock* clock) : clock_(clock != nullptr ? *clock : steady_clock()) {}

std::size_t ComputeGate::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint64_t came = next_ticket_ - serving_;
  return came > 0 ? static_cast<std::size_t>(came - 1) : 0;
}

bool ComputeGate::guest_paused() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return paused_;
}

std::int64_t ComputeGate::patience_ns() const { return std::max(kLeastPatienceNs, 2 * longest_piece_ns_.load()); }

void ComputeGate::enter() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [this, ticket] { return serving_ == ticket; });
  while (true) {
    const std::int64_t now = clock_.now_ns();
    const std::int64_t last_seen = seen_ns_.load();
    const bool silent = !paused_ && (last_seen == 0 || now - last_seen > patience_ns());
    const bool owed = now < guest_until_ns_;
    wanted_.store(!owed || silent);
    if (silent || (paused_ && !owed)) break;
    const std::int64_t until = owed ? guest_until_ns_ : last_seen + patience_ns();
    changed_.wait_for(lock, std::chrono::nanoseconds(std::clamp<std::int64_t>(until - now, 1, kLookAgainNs)));
  }
  turn_began_ns_ = clock_.now_ns();
}

void ComputeGate::leave() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::int64_t now = clock_.now_ns();
    guest_until_ns_ = 0;
    if (paused_) {
      guest_until_ns_ = now + static_cast<std::int64_t>(static_cast<double>(now - turn_began_ns_) * kGuestShare);
      seen_ns_.store(now);  // it goes on from here
    }
    wanted_.store(false);
    turns_ended_++;
    serving_++;
  }
  changed_.notify_all();
}

void ComputeGate::see_guest() {
  const std::int64_t now = clock_.now_ns();
  const std::int64_t before = seen_ns_.exchange(now);
  const std::int64_t piece = now - before;
  const std::int64_t longest = longest_piece_ns_.load();
  if (before == 0 || piece > kLongestPieceNs) return;  // it was idle
  const double kept = 1 - static_cast<double>(piece) / kForgettingNs;
  longest_piece_ns_.store(std::max(piece, static_cast<std::int64_t>(static_cast<double>(longest) * kept)));
}

void ComputeGate::guest_left() {
  {
    // Whoever waits looks at the time under the lock.
    const std::lock_guard<std::mutex> lock(mutex_);
    seen_ns_.store(0);
  }
  changed_.notify_all();
}

void ComputeGate::pause_point() {
  see_guest();
  if (!wanted_.load()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  if (!wanted_.load()) return;
  paused_ = true;
  changed_.notify_all();
  const std::uint64_t ended = turns_ended_;
  changed_.wait(lock, [this, ended] { return turns_ended_ != ended; });
  paused_ = false;
}

}  // namespace assay
