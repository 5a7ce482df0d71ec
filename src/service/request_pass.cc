#include "service/request_pass.h"

#include <algorithm>
#include <utility>

namespace assay::service {

RequestPass::RequestPass(const DecisionRequest& request, engine::Scheduler& scheduler, const Clock& clock,
                         double timeout_ms)
    : request_(request), scheduler_(scheduler), clock_(clock) {
  const double own_ms = request.timeout_ms > 0 ? request.timeout_ms : timeout_ms;
  if (own_ms > 0) deadline_ns_ = clock.now_ns() + static_cast<std::int64_t>(own_ms * 1e6);
}

void RequestPass::add_terms(bool follows, engine::JobTerms& terms) const {
  terms.bulk = request_.priority == Priority::kBulk && !follows;
  terms.deadline_ns = deadline_ns_;
  terms.client = request_.client;
  terms.cancelled = cancelled_;
  terms.hold = request_.hold;
  terms.follows = follows;
}

Result<JobFuture> RequestPass::submit(engine::Job job, bool follows) {
  add_terms(follows, job.terms);
  return scheduler_.submit(std::move(job));
}

Result<MediaFuture> RequestPass::submit(engine::MediaJob job, engine::MediaScheduler& media) {
  add_terms(false, job.job.terms);
  return media.submit(std::move(job));
}

// True once the client has gone; the engine is told.
bool RequestPass::unwanted() {
  if (!cancelled_->load() && request_.cancelled && request_.cancelled()) cancelled_->store(true);
  return cancelled_->load();
}

template <typename Future>
void RequestPass::wait_for_answer(const Future& future) {
  while (request_.cancelled && future.wait_for(kAskEvery) != std::future_status::ready) {
    if (unwanted()) break;
  }
}

void RequestPass::add_costs(const engine::JobResult& result) {
  reply_.computed_rows += result.computed_rows;
  reply_.queue_ms = std::max(reply_.queue_ms, result.queue_ms);
  reply_.compute_ms = std::max(reply_.compute_ms, result.compute_ms);
}

Result<engine::JobResult> RequestPass::wait(JobFuture& future) {
  wait_for_answer(future);
  Result<engine::JobResult> result = future.get();
  if (result.ok()) add_costs(*result);
  return result;
}

Result<engine::MediaResult> RequestPass::wait(MediaFuture& future) {
  wait_for_answer(future);
  Result<engine::MediaResult> result = future.get();
  if (result.ok()) add_costs(result->job);
  return result;
}

std::optional<Error> RequestPass::wait_until(const std::function<bool()>& ready) {
  while (!ready()) {
    if (unwanted()) return Error{ErrorCode::kCancelled, "The caller went away.", ""};
    if (deadline_ns_ != 0 && clock_.now_ns() > deadline_ns_)
      return Error{ErrorCode::kDeadline, "The answer was not there within timeout_ms.", "timeout_ms"};
  }
  return std::nullopt;
}

}  // namespace assay::service
