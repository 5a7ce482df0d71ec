#pragma once
// A server's lessons: the decider that answers with them, the folder they lie in, the decisions they come from. See
// assay/lesson_desk.h.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/lesson_desk.h"
#include "assay/teaching.h"
#include "service/label_adding.h"
#include "service/lesson_decider.h"
#include "service/lesson_watch.h"
#include "service/promotion.h"
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
  // Returns when versions in the shadow have answered all that they were asked so far.
  void wait_for_shadows() { shadows_.wait(); }
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
  Status export_decisions(const ExportQuery& query,
                          const std::function<bool(std::string_view line)>& write) const override;
  Result<bool> forget(const std::string& id) override;
  DeskStats stats() const override;

 private:
  void watch(const DecidedRequest& decided);
  void count(const DecidedRequest& decided);
  void add_head_inputs(const DecidedRequest& decided, store::DecisionRecord& record) const;
  void add_notes(const DecidedRequest& decided, store::DecisionRecord& record) const;
  void add_shadow_tasks(const DecidedRequest& decided, const std::string& decision_id);
  void take_shadow_answer(const ShadowTask& task, const Answer& answer);
  void take_up_counts();
  store::StoredBytes note_of(const ShelvedLesson& lesson) const;
  Result<LessonVersions> find(const std::string& name) const;
  // REQUIRES: there is a shadow.
  Result<ShadowStanding> standing_of(const LessonVersions& lesson) const;

  // What fits learn from and where they read.
  LearningFrom learning_from(KeptStates& kept, const std::string& rows_path);
  Result<Value> fit_whole(const LessonVersions& known, const FitOptions& options);
  Result<Lesson> learn(const LessonVersions& known, const FitOptions& options, FitRows& rows);
  // Nothing: a whole fit is due.
  Result<std::optional<Value>> add_labels(const LessonVersions& known, const FitOptions& options);
  Value fit_view(const ShelvedLesson& lesson, const char* method, const FitRows& rows);

  const LessonOptions options_;
  const std::unique_ptr<LessonBook> book_;
  const std::unique_ptr<store::DecisionStore> store_;
  const bool keeps_states_;
  const std::string bits_;  // what hidden states depend on beside a request (kept_states.h)
  LessonWatch watch_;
  std::mutex recording_;  // held while an answer is counted and left with the store, so that notes are never older
  std::mutex fitting_;    // held while a fit runs
  KeptTeachers teachers_;
  std::atomic<std::uint64_t> states_read_{0};
  std::atomic<std::uint64_t> states_kept_{0};
  LessonDecider decider_;
  ShadowWork shadows_;  // last: it uses all of the above
};

}  // namespace assay::service
