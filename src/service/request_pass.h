#pragma once
// One request on its way through the engine: what its jobs have in common, and what they cost so far.

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "assay/decision.h"
#include "base/clock.h"
#include "engine/media_scheduler.h"
#include "engine/scheduler.h"

namespace assay::service {

using JobFuture = std::future<Result<engine::JobResult>>;
using MediaFuture = std::future<Result<engine::MediaResult>>;

// Used by the request's own thread. The request, the scheduler and the clock outlive it.
class RequestPass {
 public:
  // The deadline counts from now on; `timeout_ms` is for requests that name none, 0: no deadline.
  RequestPass(const DecisionRequest& request, engine::Scheduler& scheduler, const Clock& clock, double timeout_ms);

  const DecisionRequest& request() const { return request_; }
  // Filled as jobs end: rows, times and, by whoever knows them, the rest.
  DecisionReply& reply() { return reply_; }

  // Hands a job in. `follows`: belongs to a request of which a job was accepted before; others may wait for it, also
  // those in a hurry.
  Result<JobFuture> submit(engine::Job job, bool follows);
  // The job's numbers. Asks now and then whether the answer is still wanted; the engine then drops the request's jobs.
  Result<engine::JobResult> wait(JobFuture& future);
  // The same for a job with images.
  Result<MediaFuture> submit(engine::MediaJob job, engine::MediaScheduler& media);
  Result<engine::MediaResult> wait(MediaFuture& future);
  // Until `ready` says so: it is asked again and again and may itself wait for kAskEvery. Nothing when it was ready;
  // kCancelled or kDeadline when the answer is not wanted any more or late.
  std::optional<Error> wait_until(const std::function<bool()>& ready);
  static constexpr std::chrono::milliseconds kAskEvery{50};

 private:
  bool unwanted();
  void add_terms(bool follows, engine::JobTerms& terms) const;
  void add_costs(const engine::JobResult& result);
  template <typename Future>
  void wait_for_answer(const Future& future);

  const DecisionRequest& request_;
  engine::Scheduler& scheduler_;
  const Clock& clock_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  std::int64_t deadline_ns_ = 0;
  DecisionReply reply_;
};

}  // namespace assay::service
