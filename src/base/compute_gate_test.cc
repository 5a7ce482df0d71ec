#include "base/compute_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

namespace assay {
namespace {

// A guest that passes pause points until it is told to end.
class Guest {
 public:
  explicit Guest(ComputeGate& gate)
      : thread_([this, &gate] {
          while (!end_.load()) {
            gate.pause_point();
            passed_++;
          }
        }) {
    wait_for(1);
  }
  ~Guest() {
    end_.store(true);
    thread_.join();
  }
  long passed() const { return passed_.load(); }
  void wait_for(long more) const {
    const long wanted = passed_.load() + more;
    while (passed_.load() < wanted) std::this_thread::yield();
  }

 private:
  std::atomic<bool> end_{false};
  std::atomic<long> passed_{0};
  std::thread thread_;
};

TEST(ComputeGate, AGuestStandsStillWhileATurnIsHeld) {
  ManualClock clock;
  clock.advance_ms(1);
  ComputeGate gate(&clock);
  const Guest guest(gate);
  {
    // The clock stands, so the guest is never silent: the turn begins when it has paused.
    const ComputeGate::Turn turn(&gate);
    EXPECT_TRUE(gate.guest_paused());
    const long passed = guest.passed();
    for (int i = 0; i < 1000; i++) std::this_thread::yield();
    EXPECT_EQ(guest.passed(), passed);
  }
  guest.wait_for(3);
}

TEST(ComputeGate, ASilentGuestIsNotWaitedFor) {
  ManualClock clock;
  clock.advance_ms(1);
  ComputeGate gate(&clock);
  {
    const ComputeGate::Turn turn(&gate);
  }  // there never was a guest
  gate.pause_point();
  EXPECT_EQ(gate.guest_seen_ns(), 1'000'000);
  clock.advance_ms(10);
  {
    const ComputeGate::Turn turn(&gate);
  }
  EXPECT_FALSE(gate.guest_paused());
  gate.pause_point();  // and nobody holds it up
  EXPECT_EQ(gate.guest_seen_ns(), 11'000'000);
}

TEST(ComputeGate, AGuestThatWaitedGetsItsShareBeforeTheNextTurn) {
  ManualClock clock;
  clock.advance_ms(1);
  ComputeGate gate(&clock);
  const Guest guest(gate);
  {
    const ComputeGate::Turn turn(&gate);
    clock.advance_ms(30);
  }
  std::atomic<bool> begun{false};
  std::thread next([&] {
    const ComputeGate::Turn turn(&gate);
    begun.store(true);
  });
  guest.wait_for(100);
  EXPECT_FALSE(begun.load());
  // In steps that are no silence: else a guest that has not come again yet is not waited for.
  for (int step = 0; step < 90; step++) {
    clock.advance_ms(0.1);
    guest.wait_for(2);
  }
  EXPECT_FALSE(begun.load());
  clock.advance_ms(2);  // 30 ms / 3 are over
  next.join();
  EXPECT_TRUE(begun.load());
}

// A graph of many short nodes, then what comes between two graphs.
void compute_graph(ComputeGate& gate, ManualClock& clock, double between_ms) {
  for (int node = 0; node < 1000; node++) {
    gate.pause_point();
    clock.advance_ms(0.01);
  }
  clock.advance_ms(between_ms);
}

TEST(ComputeGate, ATurnWaitsForWhatTheGuestDoesBetweenTwoGraphs) {
  ManualClock clock;
  clock.advance_ms(1);
  ComputeGate gate(&clock);
  for (int i = 0; i < 3; i++) compute_graph(gate, clock, 3);
  compute_graph(gate, clock, 1);  // and it is not done yet
  std::atomic<bool> ended{false};
  bool stood_still = false;
  std::thread turn([&] {
    {
      const ComputeGate::Turn held(&gate);
      stood_still = gate.guest_paused();
    }
    ended.store(true);
  });
  for (int i = 0; i < 1000; i++) std::this_thread::yield();
  while (!ended.load()) gate.pause_point();
  turn.join();
  EXPECT_TRUE(stood_still);
}

TEST(ComputeGate, AGuestThatHasLeftIsNotWaitedFor) {
  ManualClock clock;
  clock.advance_ms(1);
  ComputeGate gate(&clock);
  for (int i = 0; i < 3; i++) compute_graph(gate, clock, 3);
  gate.guest_left();
  const ComputeGate::Turn turn(&gate);  // the clock stands: it would never come
  EXPECT_FALSE(gate.guest_paused());
  EXPECT_EQ(gate.guest_seen_ns(), 0);
}

TEST(ComputeGate, OneSlowPieceIsForgottenInTime) {
  ManualClock clock;
  clock.advance_ms(1);
  ComputeGate gate(&clock);
  compute_graph(gate, clock, 90);
  for (int i = 0; i < 300; i++) compute_graph(gate, clock, 0);  // three seconds
  clock.advance_ms(2);
  const ComputeGate::Turn turn(&gate);  // the clock stands: it would never come
  EXPECT_FALSE(gate.guest_paused());
}

}  // namespace
}  // namespace assay
