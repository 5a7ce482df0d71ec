#pragma once
// The recipe that joins words and arithmetic: prompts from decision/, tokens and numbers from engine/. See
// assay/decider.h.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/decider.h"
#include "base/clock.h"
#include "base/request_gate.h"
#include "engine/encoder.h"
#include "engine/media_scheduler.h"
#include "engine/scheduler.h"
#include "service/answer_cache.h"
#include "service/early_reads.h"
#include "service/prior_cache.h"
#include "service/prior_work.h"
#include "service/question_plan.h"
#include "service/request_pass.h"

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

// What requests with images need.
struct ImageParts {
  std::unique_ptr<engine::MediaScheduler> scheduler;  // nullptr: no images are read
  std::function<std::string()> projector_sha256;      // of the projector's file, for receipts
  std::int32_t batch_tokens = 0;                      // moves bits
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
  bool healthy() const override {
    return !gate_.closed() && scheduler_->healthy() && (!images_.scheduler || images_.scheduler->healthy());
  }
  bool full() const override { return scheduler_->full(); }
  EngineStats stats() const override;
  void drain(double grace_ms) override;

  // Answers the built-in rows under a readout, row by row as requests would be; picked[i] is the option chosen for row
  // i (readout_check.cc).
  Result<std::vector<std::size_t>> answer_check(Readout readout);
  // For open(), before other threads see this object.
  ModelReport& mutable_report() { return report_; }
  void read_images(ImageParts parts) { images_ = std::move(parts); }
  const Labels& labels() const { return labels_; }
  const PriorCache& priors() const { return priors_; }

 private:
  using Answers = std::vector<std::optional<Answer>>;

  Result<DecisionReply> answer(const DecisionRequest& request);
  Result<DecisionReply> compute(const DecisionRequest& request);
  // Requests with images (image_pass.cc).
  Status check_images(const DecisionRequest& request) const;
  Result<DecisionReply> compute_with_images(const DecisionRequest& request);
  Result<std::vector<QuestionPlan>> plan_questions(const DecisionRequest& request) const;
  static std::optional<Error> end_all(std::vector<PriorWork>& priors);
  void answer_early(const DecisionRequest& request, const std::vector<QuestionPlan>& plans, JobFuture& future,
                    EarlyReads& early, std::vector<PriorWork>& priors, RequestPass& pass, Answers& answers);
  Result<Answer> answer_one(const DecisionRequest& request, std::size_t index, const QuestionPlan& plan,
                            const engine::JobResult& numbers, PriorWork& priors) const;
  Receipt receipt(const DecisionRequest& request, const std::vector<QuestionPlan>& plans,
                  const std::vector<Answer>& answers) const;

  // Immutable after open().
  const std::unique_ptr<engine::Encoder> encoder_;
  const std::unique_ptr<engine::Scheduler> scheduler_;
  const Clock& clock_;
  const LocalDeciderOptions options_;
  const Labels labels_;
  ModelReport report_;
  ImageParts images_;
  // Thread-safe parts.
  PriorCache priors_;
  AnswerCache answers_;
  RequestGate gate_;
};

}  // namespace assay::service
