#pragma once
// The recipe that joins words and arithmetic: prompts from decision/, tokens and numbers from engine/. See
// assay/decider.h.

#include <memory>
#include <vector>

#include "assay/decider.h"
#include "base/request_gate.h"
#include "engine/encoder.h"
#include "engine/scheduler.h"
#include "service/prior_cache.h"
#include "service/question_plan.h"

namespace assay::service {

struct LocalDeciderOptions {
  RequestLimits limits;
  SpecialTokens special_tokens = SpecialTokens::kLiteral;
  std::size_t prior_cache_tokens = 262144;
};

// Thread-safe.
class LocalDecider final : public Decider {
 public:
  // `report.readout` is what kAuto means; open() may change it through mutable_report().
  LocalDecider(std::unique_ptr<engine::Encoder> encoder, std::unique_ptr<engine::Scheduler> scheduler,
               LocalDeciderOptions options, ModelReport report);

  Result<DecisionReply> decide(const DecisionRequest& request) override;
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return gate_.inside(); }
  bool healthy() const override { return !gate_.closed() && scheduler_->healthy(); }
  EngineStats stats() const override { return {}; }
  void drain(double grace_ms) override;

  // Answers the built-in rows under a readout, in one job for all of them; picked[i] is the option chosen for row i.
  Result<std::vector<std::size_t>> answer_check(Readout readout);
  // For open(), before other threads see this object.
  ModelReport& mutable_report() { return report_; }
  const Labels& labels() const { return labels_; }
  const PriorCache& priors() const { return priors_; }

 private:
  Status check_special(const DecisionRequest& request) const;
  // The option priors of each text question, computed where the cache has none; nullptr for letters.
  Result<std::vector<std::shared_ptr<const Priors>>> priors_for(const std::vector<QuestionPlan>& plans,
                                                                DecisionReply& reply);
  Reliability reliability(Readout readout, QuestionType type) const;

  // Immutable after open().
  const std::unique_ptr<engine::Encoder> encoder_;
  const std::unique_ptr<engine::Scheduler> scheduler_;
  const LocalDeciderOptions options_;
  const Labels labels_;
  ModelReport report_;
  // Thread-safe parts.
  PriorCache priors_;
  RequestGate gate_;
};

}  // namespace assay::service
