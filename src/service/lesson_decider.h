#pragma once
// A decider that answers with lessons where there are some for a question, on top of one that does not know them.

#include <functional>
#include <memory>
#include <vector>

#include "assay/decider.h"
#include "service/lesson_answer.h"
#include "service/lesson_book.h"

namespace assay::service {

// What a lesson's head answered from; empty for an answer without a head.
struct HeadInput {
  std::vector<std::vector<float>> states;  // behind each of its cues
  // Whether they were read by a request that anybody who reads them so makes: one question, its cues, nothing scored.
  bool read_alone = false;
  std::vector<double> zero_shot_scores;  // what the readout gave, one for each option; empty where nothing was scored
};

// What became of a request, for whoever keeps a record: called on the caller's thread, before decide() returns. The
// reply has a receipt where the inner decider gives any, also when the request asked for none. It may set the reply's
// decision_id and nothing else. Must not throw.
struct DecidedRequest {
  const DecisionRequest& request;
  const std::vector<LessonPick>& picks;  // one for each question, as they answered
  const std::vector<HeadInput>& inputs;  // the same
  DecisionReply& reply;
};
using DecisionWatcher = std::function<void(const DecidedRequest&)>;

// Requests with images are answered without lessons, and nothing watches them.
//
// Thread-safe. The same request and the same lesson version give the same bits where the inner decider does so.
class LessonDecider final : public Decider {
 public:
  // `inner` is owned; the book outlives this. The watcher may be empty.
  LessonDecider(std::unique_ptr<Decider> inner, const LessonBook& book, DecisionWatcher watcher)
      : inner_(std::move(inner)), book_(book), watcher_(std::move(watcher)) {}

  // Errors besides the inner one's: kInvalidArgument with field "lesson" (no such lesson, one that cannot be used, or a
  // named one that is for none of the questions), or "x_calibrated" (an answer has no calibration).
  Result<DecisionReply> decide(const DecisionRequest& request) override;
  // The same with these lessons; nothing is watched.
  Result<DecisionReply> decide_with(const DecisionRequest& request, const std::vector<LessonPick>& picks);

  // The one below, for whoever asks to learn: without lessons, and nobody watches.
  Decider& inner() { return *inner_; }

  const ModelReport& report() const override { return inner_->report(); }
  std::size_t in_flight() const override { return inner_->in_flight(); }
  bool full() const override { return inner_->full(); }
  bool healthy() const override { return inner_->healthy(); }
  EngineStats stats() const override { return inner_->stats(); }
  void drain(double grace_ms) override { inner_->drain(grace_ms); }

 private:
  Result<std::vector<LessonPick>> pick(const DecisionRequest& request) const;
  // Layouts may rule picks out. `inputs` is filled.
  Result<DecisionReply> answer(const DecisionRequest& request, std::vector<LessonPick>& picks, bool receipt,
                               std::vector<HeadInput>& inputs);

  const std::unique_ptr<Decider> inner_;
  const LessonBook& book_;
  const DecisionWatcher watcher_;
};

}  // namespace assay::service
