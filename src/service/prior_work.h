#pragma once
// The priors of one question of one request: there already, being computed by this request, or by another.

#include <memory>
#include <optional>
#include <vector>

#include "service/prior_cache.h"
#include "service/question_plan.h"
#include "service/request_pass.h"

namespace assay::service {

using SharedPriors = std::shared_ptr<const Priors>;

// Used by the request's own thread; the plan, the cache and the pass outlive it. Whoever has a work that is mine()
// either ends or destroys it before waiting for one that is not: two requests may each wait for the other's.
class PriorWork {
 public:
  // Looks the priors up and hands in the jobs for them when nobody has. Text questions only; for others there is
  // nothing to do.
  PriorWork(const QuestionPlan& plan, PriorCache& cache, RequestPass& pass);
  ~PriorWork();
  PriorWork(PriorWork&& other) noexcept;
  PriorWork(const PriorWork&) = delete;
  PriorWork& operator=(const PriorWork&) = delete;

  // This request computes them, also for whoever else waits.
  bool mine() const { return duty_ != nullptr; }
  // The priors, waited for; nullptr for a question that has none. When the one who computed them failed, tries itself.
  // Idempotent.
  Result<SharedPriors> end();

 private:
  class Duty;
  void begin();
  Result<SharedPriors> compute();

  const QuestionPlan& plan_;
  PriorCache& cache_;
  RequestPass& pass_;
  PriorCache::Lookup lookup_;
  std::unique_ptr<Duty> duty_;
  std::vector<PriorJob> jobs_;
  std::vector<JobFuture> futures_;  // of those that were accepted
  std::optional<Error> refused_;
  std::optional<Result<SharedPriors>> ended_;
};

}  // namespace assay::service
