#pragma once
// A decider on weights that somebody else frees while nobody needs them, and loads again when somebody does.
//
//   SleepingDecider decider(std::move(inner), {.wake = …, .touch = …});
//   decider.fall_asleep();              // whoever frees the weights, before
//   decider.wake_up(open_on(weights));  // and after they are back

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "assay/decider.h"
#include "base/request_gate.h"

namespace assay::server {

// Whoever owns the weights, asked from any thread that decides.
struct SleepHooks {
  // Blocks until the weights are there, loading them where they are not. Counts as activity. An error: they cannot be
  // loaded now.
  std::function<Status()> wake;
  // Somebody has just used them. Neither blocks for long nor loads.
  std::function<void()> touch;
};

// Thread-safe; fall_asleep() and wake_up() are for the one thread that frees and loads the weights. That thread may
// hold what the hooks wait for: nothing here calls a hook while it is waited for in fall_asleep().
//
// A decision while asleep wakes the weights and is answered then. What is known of the model stays what it was at
// first: the same file is loaded in the same way.
class SleepingDecider final : public Decider {
 public:
  // REQUIRES: `awake` is there, and so are its weights.
  SleepingDecider(std::unique_ptr<Decider> awake, SleepHooks hooks);

  // Waits for the decisions that compute, then destroys the inner decider. Those that come meanwhile call wake() again.
  void fall_asleep();
  // With the decider on the new weights. An error: every decision gets it until the next call.
  void wake_up(Result<std::unique_ptr<Decider>> again);

  Result<DecisionReply> decide(const DecisionRequest& request) override;
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return gate_.inside(); }
  // Asleep is healthy: a decision would be answered.
  bool healthy() const override;
  bool full() const override;
  // Asleep nothing has a place in the model; what is counted since the start goes on behind a sleep.
  EngineStats stats() const override;
  // A decision that waits for the weights is waited for, too, and answered where they come within the grace.
  void drain(double grace_ms) override;

 private:
  class Use;

  const ModelReport report_;
  const SleepHooks hooks_;
  RequestGate gate_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable unused_;
  std::unique_ptr<Decider> inner_;  // nullptr: asleep
  std::optional<Error> failed_;     // why it could not be opened again
  std::size_t users_ = 0;           // of inner_
  bool leaving_ = false;            // no new users
  bool gave_up_ = false;            // the grace of drain() is over
  EngineStats before_;              // counts of the inner deciders that have gone
};

}  // namespace assay::server
