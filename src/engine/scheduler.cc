#include "engine/scheduler.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/assert.h"
#include "engine/batch_plan.h"
#include "engine/logits.h"

// Invariants: a promise is made when its job is accepted and set exactly once, by the engine thread; between two jobs
// the decoder holds nothing.

namespace assay::engine {

struct Scheduler::Accepted {
  Job job;
  Plan plan;
  std::int64_t accepted_ns = 0;
  std::promise<Result<JobResult>> promise;
};

Scheduler::Scheduler(std::unique_ptr<Decoder> decoder, const Clock& clock, SchedulerOptions options)
    : clock_(clock),
      limits_(decoder->limits()),
      decoder_(std::move(decoder)),
      queue_(options.queue_jobs_max),
      thread_([this] { loop(); }) {}

Scheduler::~Scheduler() { drain(); }

Result<std::future<Result<JobResult>>> Scheduler::submit(Job job) {
  // Planning on the caller's thread: what does not fit is refused before it waits.
  Result<Plan> plan = plan_job(job, limits_);
  if (!plan.ok()) return plan.error();
  auto accepted = std::make_unique<Accepted>();
  accepted->job = std::move(job);
  accepted->plan = std::move(plan).value();
  accepted->accepted_ns = clock_.now_ns();
  std::future<Result<JobResult>> future = accepted->promise.get_future();
  in_flight_++;
  switch (queue_.try_push(std::move(accepted))) {
    case PushOutcome::kAccepted:
      return future;
    case PushOutcome::kFull:
      in_flight_--;
      return Error{ErrorCode::kOverloaded, "The queue is full; try again.", ""};
    case PushOutcome::kClosed:
      in_flight_--;
      return Error{ErrorCode::kUnavailable, "The server is shutting down.", ""};
  }
  ASSAY_ASSERT(false);
  return Error{};
}

Result<JobResult> Scheduler::run(Job job) {
  Result<std::future<Result<JobResult>>> future = submit(std::move(job));
  if (!future.ok()) return future.error();
  return future->get();
}

void Scheduler::drain() {
  queue_.close();
  const std::lock_guard<std::mutex> lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void Scheduler::loop() {
  while (std::optional<std::unique_ptr<Accepted>> accepted = queue_.pop()) {
    Result<JobResult> result = compute(**accepted);
    const bool failed = !result.ok() && result.error().code == ErrorCode::kInternal;
    failures_in_a_row_ = failed ? failures_in_a_row_ + 1 : 0;
    in_flight_--;
    (*accepted)->promise.set_value(std::move(result));
  }
}

Result<JobResult> Scheduler::compute(const Accepted& accepted) {
  const std::int64_t start_ns = clock_.now_ns();
  JobResult result;
  result.queue_ms = static_cast<double>(start_ns - accepted.accepted_ns) / 1e6;
  result.computed_rows = accepted.plan.computed_rows;
  result.reads.resize(accepted.job.reads.size());
  for (const Step& step : accepted.plan.steps) {
    if (Status status = compute_step(step, accepted.job, result); !status.ok()) {
      // Whatever the plan still holds goes: the next job starts on an empty decoder.
      for (SequenceId sequence = 0; sequence < limits_.sequences_max; sequence++) decoder_->release(sequence);
      return status.error();
    }
  }
  result.compute_ms = clock_.ms_since(start_ns);
  return result;
}

Status Scheduler::compute_step(const Step& step, const Job& job, JobResult& result) {
  for (const Fork& fork : step.forks) decoder_->fork(fork.from, fork.to);
  bool hidden_states = false;
  for (const PlannedRead& planned : step.reads) hidden_states = hidden_states || job.reads[planned.read].hidden_state;
  if (!step.rows.empty()) {
    if (Status status = decoder_->decode(step.rows, hidden_states); !status.ok()) return status;
  }
  for (const PlannedRead& planned : step.reads) {
    const Read& read = job.reads[planned.read];
    Result<ReadResult> numbers = read_logits(decoder_->logits(planned.batch_row), read.targets);
    if (!numbers.ok()) return numbers.error();
    if (read.hidden_state) {
      const std::span<const float> hidden = decoder_->hidden_state(planned.batch_row);
      for (const float number : hidden) {
        if (!std::isfinite(number))
          return Error{ErrorCode::kNonfiniteLogits, "The model produced a non-finite hidden state.", ""};
      }
      numbers->hidden.assign(hidden.begin(), hidden.end());
    }
    result.reads[planned.read] = std::move(numbers).value();
  }
  for (const SequenceId sequence : step.releases) decoder_->release(sequence);
  return {};
}

}  // namespace assay::engine
