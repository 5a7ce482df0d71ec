#pragma once
// The engine's thread: jobs in from any thread, numbers out. All computing is in engine.h; here are the queue's limit,
// the waiting, the watchdog and the end.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "assay/error.h"
#include "base/clock.h"
#include "base/compute_gate.h"
#include "engine/decoder.h"
#include "engine/engine.h"
#include "engine/job.h"

namespace assay::engine {

struct SchedulerOptions {
  std::size_t queue_jobs_max = 256;  // jobs accepted and not yet answered
  EngineOptions engine;
  double stuck_seconds = 120;    // a decode that takes longer makes it unhealthy
  PrefixStore* store = nullptr;  // outlives the scheduler
  ComputeGate* gate = nullptr;   // shared with whoever else computes on these cores; outlives the scheduler
};

// Thread-safe. Every accepted job is answered exactly once: with its numbers, or with the error that befell it.
class Scheduler {
 public:
  static constexpr double kNoLimit = -1;

  // REQUIRES: decoder is not used by anyone else from now on; clock outlives this.
  Scheduler(std::unique_ptr<Decoder> decoder, const Clock& clock, SchedulerOptions options);
  ~Scheduler();  // drains without limit
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Accepts a job or refuses it at once: kOverloaded (queue full), kUnavailable (draining), kTooLong, kInvalidArgument.
  // The future can also hold kTooBusy, kDeadline, kCancelled, kUnavailable, kNonfiniteLogits and kInternal.
  Result<std::future<Result<JobResult>>> submit(Job job);
  // submit() and wait.
  Result<JobResult> run(Job job);

  const DecoderLimits& limits() const { return limits_; }
  // False after several decodes of one job each have failed in a row (only a restart helps), and while a decode is
  // stuck.
  bool healthy() const;
  // Jobs accepted and not yet answered.
  std::size_t in_flight() const { return in_flight_.load(); }
  // Whether a job that came now would be refused for want of a place.
  bool full() const { return in_flight_.load() >= options_.queue_jobs_max; }
  // As of the last step.
  EngineStats stats() const;
  // Stops accepting, answers what was accepted, ends the thread; what is not answered after grace_ms gets kUnavailable
  // (after the decode that runs then). Idempotent; a later call may shorten the grace of an earlier one.
  void drain(double grace_ms);
  // True once a drain's grace is over.
  bool giving_up() const;

 private:
  static constexpr int kFailuresMax = 3;

  void loop();
  // Moves what came in to the engine; waits when there is nothing to do. False: closed and all answered.
  bool take_in();
  void publish();

  // Immutable.
  const Clock& clock_;
  const DecoderLimits limits_;
  const SchedulerOptions options_;
  // Engine thread only.
  const std::unique_ptr<Decoder> decoder_;
  Engine engine_;
  // Shared.
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Work>> inbox_;
  bool closed_ = false;
  bool give_up_ = false;
  bool ended_ = false;
  EngineStats stats_;
  std::vector<std::int32_t> rows_left_;

  std::atomic<std::size_t> in_flight_{0};
  std::atomic<int> failures_in_a_row_{0};
  std::atomic<std::int64_t> step_start_ns_{0};  // 0: no step runs
  std::mutex join_mutex_;                       // guards the join of thread_
  std::thread thread_;                          // last: it starts when everything above is there
};

}  // namespace assay::engine
