#include "service/prior_work.h"

#include <utility>

namespace assay::service {

// Whoever is to compute priors says once that they are there or do not come, also when an exception ends the request:
// others wait for it.
class PriorWork::Duty {
 public:
  Duty(PriorCache& cache, PriorKey key) : cache_(cache), key_(std::move(key)) {}
  ~Duty() {
    if (!done_) cache_.finish(key_, nullptr);
  }
  Duty(const Duty&) = delete;
  Duty& operator=(const Duty&) = delete;
  void finish(SharedPriors priors) {
    done_ = true;
    cache_.finish(key_, std::move(priors));
  }

 private:
  PriorCache& cache_;
  const PriorKey key_;
  bool done_ = false;
};

PriorWork::PriorWork(const QuestionPlan& plan, PriorCache& cache, RequestPass& pass)
    : plan_(plan), cache_(cache), pass_(pass) {
  if (plan.readout == Readout::kText && plan.scored) {
    begin();
  } else {
    ended_ = SharedPriors();
  }
}

PriorWork::~PriorWork() = default;
PriorWork::PriorWork(PriorWork&& other) noexcept = default;

void PriorWork::begin() {
  PriorKey key = prior_key(plan_);
  lookup_ = cache_.begin(key);
  if (!lookup_.mine) return;
  duty_ = std::make_unique<Duty>(cache_, std::move(key));
  jobs_ = prior_jobs(plan_);
  for (PriorJob& prior : jobs_) {
    Result<JobFuture> future = pass_.submit(std::move(prior.job), true);
    if (!future.ok()) {
      refused_ = future.error();
      break;
    }
    futures_.push_back(std::move(future).value());
  }
}

Result<SharedPriors> PriorWork::end() {
  while (!ended_ && !mine()) {
    SharedPriors priors = lookup_.priors;
    if (!priors) {
      const auto ready = [this] {
        return lookup_.pending.wait_for(RequestPass::kAskEvery) == std::future_status::ready;
      };
      if (const std::optional<Error> error = pass_.wait_until(ready)) return *error;
      priors = lookup_.pending.get();
    }
    if (priors) {
      ended_ = std::move(priors);
    } else {
      begin();
    }
  }
  if (!ended_) ended_ = compute();
  return *ended_;
}

Result<SharedPriors> PriorWork::compute() {
  std::vector<engine::JobResult> results;
  std::optional<Error> failed = refused_;
  for (JobFuture& future : futures_) {
    Result<engine::JobResult> result = pass_.wait(future);
    if (!result.ok()) {
      failed = result.error();
    } else {
      results.push_back(std::move(result).value());
    }
  }
  SharedPriors priors;
  if (!failed) priors = std::make_shared<const Priors>(priors_of(jobs_, results));
  duty_->finish(priors);
  if (failed) return *failed;
  return priors;
}

}  // namespace assay::service
