// The lock is never held while anything is computed, waited for or called: users of the inner decider are counted, and
// whoever takes it away waits until there are none.
#include "server/sleeping_decider.h"

#include <utility>

namespace assay::server {
namespace {

void add(std::uint64_t& to, std::uint64_t more) { to += more; }

// `now` with the counts of those before it.
EngineStats behind(const EngineStats& before, EngineStats now) {
  add(now.steps, before.steps);
  add(now.rows, before.rows);
  add(now.padding_rows, before.padding_rows);
  now.step_seconds += before.step_seconds;
  add(now.jobs, before.jobs);
  add(now.jobs_cancelled, before.jobs_cancelled);
  add(now.jobs_late, before.jobs_late);
  add(now.failed_steps, before.failed_steps);
  add(now.prefix_lookup_tokens, before.prefix_lookup_tokens);
  add(now.prefix_hit_tokens, before.prefix_hit_tokens);
  add(now.prefix_evictions, before.prefix_evictions);
  add(now.answer_cache_hits, before.answer_cache_hits);
  add(now.answer_cache_misses, before.answer_cache_misses);
  return now;
}

// What remains when nothing of the model is there.
EngineStats counts_of(EngineStats stats) {
  stats.queued = stats.running = 0;
  stats.cells = stats.cells_used = stats.cached_prefixes = stats.cached_prefix_tokens = 0;
  stats.rows_per_second = 0;
  return stats;
}

Error shutting_down() { return {ErrorCode::kUnavailable, "The server is shutting down.", ""}; }

}  // namespace

// The inner decider, kept for its life.
class SleepingDecider::Use {
 public:
  explicit Use(SleepingDecider& of) : of_(of) {
    const std::lock_guard<std::mutex> lock(of_.mutex_);
    if (of_.leaving_ || of_.inner_ == nullptr) return;
    inner_ = of_.inner_.get();
    of_.users_++;
  }
  ~Use() {
    if (inner_ == nullptr) return;
    const std::lock_guard<std::mutex> lock(of_.mutex_);
    of_.users_--;
    of_.unused_.notify_all();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Decider* inner() const { return inner_; }

 private:
  SleepingDecider& of_;
  Decider* inner_ = nullptr;
};

SleepingDecider::SleepingDecider(std::unique_ptr<Decider> awake, SleepHooks hooks)
    : report_(awake->report()), hooks_(std::move(hooks)), inner_(std::move(awake)) {}

void SleepingDecider::fall_asleep() {
  std::unique_lock<std::mutex> lock(mutex_);
  leaving_ = true;
  unused_.wait(lock, [this] { return users_ == 0; });
  if (inner_ != nullptr) before_ = counts_of(behind(before_, inner_->stats()));
  std::unique_ptr<Decider> gone = std::move(inner_);
  failed_.reset();
  leaving_ = false;
  lock.unlock();
  gone.reset();  // its thread ends and its context is freed here
}

void SleepingDecider::wake_up(Result<std::unique_ptr<Decider>> again) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failed_.reset();
  if (again.ok()) {
    inner_ = std::move(again).value();
  } else {
    failed_ = again.error();
  }
}

Result<DecisionReply> SleepingDecider::decide(const DecisionRequest& request) {
  const RequestGate::Pass pass(gate_);
  if (!pass) return shutting_down();
  while (true) {
    if (Status awake = hooks_.wake(); !awake.ok()) return awake.error();
    Result<DecisionReply> reply = Error{ErrorCode::kInternal, "", ""};
    bool answered = false;
    {
      const Use use(*this);
      answered = use.inner() != nullptr;
      if (answered) reply = use.inner()->decide(request);
    }
    if (answered) {
      hooks_.touch();  // from here on the idle time counts
      return reply;
    }
    // It fell asleep between the two; or it cannot be woken; or there is no time for it any more.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failed_) return *failed_;
    if (gave_up_) return shutting_down();
  }
}

bool SleepingDecider::healthy() const {
  if (gate_.closed()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  return inner_ != nullptr ? inner_->healthy() : !failed_.has_value();
}

bool SleepingDecider::full() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return inner_ != nullptr && inner_->full();
}

EngineStats SleepingDecider::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return inner_ != nullptr ? behind(before_, inner_->stats()) : before_;
}

void SleepingDecider::drain(double grace_ms) {
  if (grace_ms >= 0 && !gate_.close_and_wait_ms(grace_ms)) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      gave_up_ = true;
    }
    if (const Use use(*this); use.inner() != nullptr) use.inner()->drain(0);
  }
  gate_.close_and_wait();
}

}  // namespace assay::server
