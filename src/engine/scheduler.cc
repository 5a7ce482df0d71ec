#include "engine/scheduler.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include "base/assert.h"

// Invariants: a promise is made when its job is accepted and set exactly once, by the engine thread; in_flight_ counts
// accepted jobs whose answer the engine has not given yet.

namespace assay::engine {
namespace {

constexpr double kGraceMaxMs = 1e9;  // eleven days; far longer ones overflow the wait

}  // namespace

Scheduler::Scheduler(std::unique_ptr<Decoder> decoder, const Clock& clock, SchedulerOptions options)
    : clock_(clock),
      limits_(decoder->limits()),
      options_(options),
      decoder_(std::move(decoder)),
      engine_(*decoder_, clock, options.engine, options.store),
      thread_([this] { loop(); }) {}

Scheduler::~Scheduler() { drain(kNoLimit); }

Result<std::future<Result<JobResult>>> Scheduler::submit(Job job) {
  const bool follows = job.terms.follows;
  // Planning on the caller's thread: what does not fit is refused before it waits.
  Result<std::unique_ptr<Work>> work = make_work(std::move(job), limits_);
  if (!work.ok()) return work.error();
  (*work)->accepted_ns = clock_.now_ns();
  std::future<Result<JobResult>> future = (*work)->promise.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return Error{ErrorCode::kUnavailable, "The server is shutting down.", ""};
    if (!follows && full()) {
      Error error{ErrorCode::kOverloaded,
                  "The queue is full (" + std::to_string(options_.queue_jobs_max) + " jobs); try again.", ""};
      const double rows = std::accumulate(rows_left_.begin(), rows_left_.end(), 0.0);
      if (stats_.rows_per_second > 0) error.retry_after_seconds = std::max(1.0, rows / stats_.rows_per_second / 2);
      return error;
    }
    in_flight_++;
    inbox_.push_back(std::move(work).value());
  }
  changed_.notify_all();
  return future;
}

Result<JobResult> Scheduler::run(Job job) {
  Result<std::future<Result<JobResult>>> future = submit(std::move(job));
  if (!future.ok()) return future.error();
  return future->get();
}

bool Scheduler::healthy() const {
  if (failures_in_a_row_.load() >= kFailuresMax) return false;
  const std::int64_t start_ns = step_start_ns_.load();
  return start_ns == 0 || clock_.ms_since(start_ns) < options_.stuck_seconds * 1e3;
}

EngineStats Scheduler::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  EngineStats stats = stats_;
  stats.queued += inbox_.size();
  return stats;
}

bool Scheduler::giving_up() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return give_up_;
}

void Scheduler::drain(double grace_ms) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    if (grace_ms >= 0) {
      changed_.wait_for(lock, std::chrono::duration<double, std::milli>(std::min(grace_ms, kGraceMaxMs)),
                        [this] { return ended_; });
      give_up_ = true;
    }
    changed_.notify_all();
  }
  const std::lock_guard<std::mutex> lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

bool Scheduler::take_in() {
  std::deque<std::unique_ptr<Work>> fresh;
  bool give_up = false;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !inbox_.empty() || engine_.has_work(); });
    fresh.swap(inbox_);
    give_up = give_up_;
    if (closed_ && fresh.empty() && !engine_.has_work()) return false;
  }
  for (std::unique_ptr<Work>& work : fresh) engine_.add(std::move(work));
  if (give_up) {
    engine_.abort(Error{ErrorCode::kUnavailable, "The server was shut down before the answer was there.", ""});
  }
  return true;
}

void Scheduler::publish() {
  failures_in_a_row_ = engine_.failures_in_a_row();
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_ = engine_.stats();
  rows_left_ = engine_.rows_left();
  in_flight_ = rows_left_.size() + inbox_.size();
}

void Scheduler::loop() {
  while (take_in()) {
    if (engine_.has_work()) {
      const ComputeGate::Turn turn(options_.gate);
      step_start_ns_ = std::max<std::int64_t>(1, clock_.now_ns());
      engine_.step();
      step_start_ns_ = 0;
    }
    publish();
    engine_.deliver();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace assay::engine
