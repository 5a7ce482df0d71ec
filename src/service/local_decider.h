#pragma once
// The recipe that joins words and arithmetic: prompts from decision/, tokens and numbers from engine/. See
// assay/decider.h.

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/decider.h"
#include "base/clock.h"
#include "base/request_gate.h"
#include "engine/encoder.h"
#include "engine/scheduler.h"
#include "service/answer_cache.h"
#include "service/prior_cache.h"
#include "service/question_plan.h"

namespace assay::service {

struct LocalDeciderOptions {
  RequestLimits limits;
  SpecialTokens special_tokens = SpecialTokens::kLiteral;
  Layout layout = Layout::kStateFirst;  // what kAuto means
  double timeout_ms = 0;                // of requests that name none
  std::size_t prior_cache_tokens = 262144;
  std::size_t answer_cache_entries = 0;  // only used where the report says deterministic
  // What goes into receipts besides the model's hash.
  std::string build;
  std::map<std::string, std::string> settings;
};

// Thread-safe.
class LocalDecider final : public Decider {
 public:
  // `report.readout` is what kAuto means; open() may change it through mutable_report(). The clock outlives this.
  LocalDecider(std::unique_ptr<engine::Encoder> encoder, std::unique_ptr<engine::Scheduler> scheduler,
               const Clock& clock, LocalDeciderOptions options, ModelReport report);

  Result<DecisionReply> decide(const DecisionRequest& request) override;
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return gate_.inside(); }
  bool healthy() const override { return !gate_.closed() && scheduler_->healthy(); }
  EngineStats stats() const override;
  void drain(double grace_ms) override;

  // Answers the built-in rows under a readout, row by row as requests would be; picked[i] is the option chosen for row
  // i (readout_check.cc).
  Result<std::vector<std::size_t>> answer_check(Readout readout);
  // For open(), before other threads see this object.
  ModelReport& mutable_report() { return report_; }
  const Labels& labels() const { return labels_; }
  const PriorCache& priors() const { return priors_; }

 private:
  using JobFuture = std::future<Result<engine::JobResult>>;
  using SharedPriors = std::shared_ptr<const Priors>;
  // One request on its way: what its jobs have in common, and what they cost so far.
  struct Pass;
  // Priors of one question: there, being computed by this request, or by another.
  struct PriorWork;

  Status check_special(const DecisionRequest& request) const;
  Result<DecisionReply> compute(const DecisionRequest& request);
  Result<std::vector<QuestionPlan>> plan_questions(const DecisionRequest& request) const;
  PriorWork begin_priors(const QuestionPlan& plan, Pass& pass);
  Result<SharedPriors> end_priors(const QuestionPlan& plan, PriorWork& work, Pass& pass);
  Result<engine::JobResult> wait(JobFuture& future, Pass& pass);
  std::optional<Error> wait_for_priors(const PriorCache::Pending& pending, const Pass& pass) const;
  Result<JobFuture> submit(engine::Job job, Pass& pass, bool follows);
  Receipt receipt(const DecisionRequest& request, const std::vector<QuestionPlan>& plans,
                  const std::vector<Answer>& answers) const;

  // Immutable after open().
  const std::unique_ptr<engine::Encoder> encoder_;
  const std::unique_ptr<engine::Scheduler> scheduler_;
  const Clock& clock_;
  const LocalDeciderOptions options_;
  const Labels labels_;
  ModelReport report_;
  // Thread-safe parts.
  PriorCache priors_;
  AnswerCache answers_;
  RequestGate gate_;
};

}  // namespace assay::service
