#include "engine/media_scheduler.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "engine/media_run.h"

// Invariants: a promise is made when its job is accepted and set exactly once, by the thread; a turn at the gate is
// held only while a piece of work runs.

namespace assay::engine {
namespace {

constexpr double kGraceMaxMs = 1e9;  // eleven days; far longer ones overflow the wait

// Faults of the model or the machine, not of the request or its terms.
bool is_fault(const Error& error) {
  return error.code == ErrorCode::kInternal || error.code == ErrorCode::kNonfiniteLogits;
}

}  // namespace

MediaScheduler::MediaScheduler(std::unique_ptr<MediaDecoder> decoder, const Clock& clock, MediaSchedulerOptions options)
    : clock_(clock), limits_(decoder->limits()), options_(options), decoder_(std::move(decoder)), thread_([this] {
        loop();
      }) {}

MediaScheduler::~MediaScheduler() { drain(kNoLimit); }

Result<std::future<Result<MediaResult>>> MediaScheduler::submit(MediaJob job) {
  if (Status good = check_media_job(job, limits_); !good.ok()) return good.error();
  auto work = std::make_unique<Work>();
  work->job = std::move(job);
  work->accepted_ns = clock_.now_ns();
  std::future<Result<MediaResult>> future = work->promise.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return Error{ErrorCode::kUnavailable, "The server is shutting down.", ""};
    if (!work->job.job.terms.follows && queue_.size() + (running_.load() ? 1 : 0) >= options_.queue_jobs_max) {
      return Error{ErrorCode::kOverloaded,
                   "The queue of requests with images is full (" + std::to_string(options_.queue_jobs_max) +
                       " jobs); try again.",
                   ""};
    }
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
  return future;
}

bool MediaScheduler::healthy() const {
  if (failures_in_a_row_.load() >= kFailuresMax) return false;
  const std::int64_t start_ns = piece_start_ns_.load();
  return start_ns == 0 || clock_.ms_since(start_ns) < options_.stuck_seconds * 1e3;
}

std::size_t MediaScheduler::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queue_.size();
}

void MediaScheduler::drain(double grace_ms) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    if (grace_ms >= 0) {
      changed_.wait_for(lock, std::chrono::duration<double, std::milli>(std::min(grace_ms, kGraceMaxMs)),
                        [this] { return ended_; });
      give_up_.store(true);
    }
  }
  const std::lock_guard<std::mutex> lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> MediaScheduler::unwanted(const Work& work) const {
  const JobTerms& terms = work.job.job.terms;
  if (terms.cancelled && terms.cancelled->load()) return Error{ErrorCode::kCancelled, "The caller went away.", ""};
  if (give_up_.load())
    return Error{ErrorCode::kUnavailable, "The server was shut down before the answer was there.", ""};
  if (terms.deadline_ns != 0 && clock_.now_ns() > terms.deadline_ns)
    return Error{ErrorCode::kDeadline, "The answer was not there within timeout_ms.", "timeout_ms"};
  return std::nullopt;
}

// Nobody waits longer than a piece of work to hear that it is too late.
void MediaScheduler::drop_unwanted() {
  std::deque<std::unique_ptr<Work>> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::deque<std::unique_ptr<Work>> kept;
    for (std::unique_ptr<Work>& work : queue_) (unwanted(*work) ? dropped : kept).push_back(std::move(work));
    queue_.swap(kept);
  }
  for (const std::unique_ptr<Work>& work : dropped) {
    std::optional<Error> why = unwanted(*work);
    work->promise.set_value(why ? std::move(*why) : Error{ErrorCode::kDeadline, "The answer came too late.", ""});
  }
}

// Waits for work; nullptr: closed and all answered.
std::unique_ptr<MediaScheduler::Work> MediaScheduler::next() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
  if (queue_.empty()) return nullptr;
  std::unique_ptr<Work> work = std::move(queue_.front());
  queue_.pop_front();
  running_.store(true);
  return work;
}

Result<MediaResult> MediaScheduler::run(const Work& work) {
  std::optional<ComputeGate::Turn> turn;
  const auto between = [&]() -> Status {
    turn.reset();
    piece_start_ns_.store(0);
    drop_unwanted();
    if (std::optional<Error> why = unwanted(work)) return std::move(*why);
    turn.emplace(options_.gate);
    piece_start_ns_.store(std::max<std::int64_t>(1, clock_.now_ns()));
    return {};
  };
  const std::int64_t began_ns = clock_.now_ns();
  Result<MediaResult> result = MediaRun(*decoder_, work.job, between).run();
  turn.reset();
  piece_start_ns_.store(0);
  if (result.ok()) {
    result->job.queue_ms = static_cast<double>(began_ns - work.accepted_ns) / 1e6;
    result->job.compute_ms = clock_.ms_since(began_ns);
  }
  return result;
}

void MediaScheduler::loop() {
  while (const std::unique_ptr<Work> work = next()) {
    Result<MediaResult> result = run(*work);
    if (result.ok()) failures_in_a_row_.store(0);
    if (!result.ok() && is_fault(result.error())) failures_in_a_row_++;
    running_.store(false);
    work->promise.set_value(std::move(result));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace assay::engine
