#pragma once
// A server's lessons: the decider that answers with them, the folder they lie in, the decisions they come from. See
// assay/lesson_desk.h.

#include <memory>
#include <mutex>
#include <string>

#include "assay/lesson_desk.h"
#include "assay/teaching.h"
#include "service/lesson_decider.h"
#include "service/lesson_watch.h"
#include "service/shadow_work.h"
#include "store/decision_store.h"

namespace assay::service {

// Thread-safe.
class LessonOffice final : public LessonDesk {
 public:
  // The store may be null: no decisions are kept.
  LessonOffice(std::unique_ptr<Decider> inner, std::unique_ptr<LessonBook> book,
               std::unique_ptr<store::DecisionStore> store, LessonOptions options);

  LessonDecider& decider() { return decider_; }
  const LessonDecider& decider() const { return decider_; }
  // As Decider::drain(); what is to be kept is kept when it returns.
  void drain(double grace_ms);

  Value list() const override;
  Result<std::string> export_lesson(const std::string& name, std::optional<std::int32_t> version) const override;
  Result<Value> import_lesson(const std::string& text, bool shadow) override;
  Result<Value> activate(const std::string& name, std::int32_t version) override;
  Result<Value> fit(const std::string& name, const FitOptions& options) override;
  Result<Value> promote(const std::string& name, bool force) override;
  Status drop_shadow(const std::string& name) override;
  Result<Value> health(const std::string& name) const override;
  std::vector<Result<FeedbackResult>> feedback(const std::vector<Feedback>& list) override;
  Result<std::string> decision(const std::string& id) const override;
  Result<bool> forget(const std::string& id) override;
  DeskStats stats() const override;

 private:
  void watch(const DecidedRequest& decided);
  Result<LessonVersions> find(const std::string& name) const;
  // Rows of the lesson's question that somebody has labelled, and those that `assay teach` left in the folder.
  Result<std::vector<LabelledQuestion>> labelled_rows(const Lesson& lesson) const;
  Result<Lesson> learn(const Lesson& lesson, const FitOptions& options);

  const LessonOptions options_;
  const std::unique_ptr<LessonBook> book_;
  const std::unique_ptr<store::DecisionStore> store_;
  LessonWatch watch_;
  std::mutex fitting_;  // held while a fit runs
  LessonDecider decider_;
  ShadowWork shadows_;  // last: it uses all of the above
};

}  // namespace assay::service
