#pragma once
// One engine thread that owns a decoder: jobs in, numbers out. One job at a time, in order of arrival.

#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "assay/error.h"
#include "base/bounded_queue.h"
#include "base/clock.h"
#include "engine/batch_plan.h"
#include "engine/decoder.h"
#include "engine/job.h"

namespace assay::engine {

struct SchedulerOptions {
  std::size_t queue_jobs_max = 256;
};

// Thread-safe. Every accepted job is answered exactly once: with its numbers, or with the error that befell it.
class Scheduler {
 public:
  // REQUIRES: decoder is not used by anyone else from now on; clock outlives this.
  Scheduler(std::unique_ptr<Decoder> decoder, const Clock& clock, SchedulerOptions options);
  ~Scheduler();  // drains
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Accepts a job or refuses it at once: kOverloaded (queue full), kUnavailable (draining), kTooLong, kInvalidArgument.
  Result<std::future<Result<JobResult>>> submit(Job job);
  // submit() and wait.
  Result<JobResult> run(Job job);

  const DecoderLimits& limits() const { return limits_; }
  // False after several decodes in a row have failed: then only a restart helps.
  bool healthy() const { return failures_in_a_row_.load() < kFailuresMax; }
  // Jobs accepted and not yet answered.
  std::size_t in_flight() const { return in_flight_.load(); }
  // Stops accepting, answers what was accepted, ends the thread. Idempotent.
  void drain();

 private:
  static constexpr int kFailuresMax = 3;
  struct Accepted;

  void loop();
  Result<JobResult> compute(const Accepted& accepted);
  Status compute_step(const Step& step, const Job& job, JobResult& result);

  // Immutable.
  const Clock& clock_;
  const DecoderLimits limits_;
  // Engine thread only.
  const std::unique_ptr<Decoder> decoder_;
  // Shared.
  BoundedQueue<std::unique_ptr<Accepted>> queue_;
  std::atomic<std::size_t> in_flight_{0};
  std::atomic<int> failures_in_a_row_{0};
  std::mutex join_mutex_;  // guards the join of thread_
  std::thread thread_;     // last: it starts when everything above is there
};

}  // namespace assay::engine
