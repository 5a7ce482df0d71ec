#include "service/lesson_decider.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/sha256.h"
#include "service/receipt.h"

namespace assay::service {
namespace {

// Lessons name a layout, and a request has one: that of the first lesson, where the request leaves it open. Lessons
// whose scores come from another layout do not apply then.
Layout layout_of(const DecisionRequest& request, std::vector<LessonPick>& picks) {
  std::optional<Layout> layout;
  if (request.layout != Layout::kAuto) layout = request.layout;
  for (LessonPick& pick : picks) {
    if (!pick.lesson) continue;
    const Lesson& lesson = pick.lesson->lesson;
    const bool reads_hidden_state_alone =
        lesson.head && lesson.head->prior_weight == 0 && lesson.head->options.size() == pick.places.size();
    if (reads_hidden_state_alone) continue;
    const std::optional<Layout> learnt = layout_from_name(lesson.layout);
    if (!layout) layout = learnt;
    if (layout == learnt) continue;
    pick = LessonPick{.lesson = nullptr,
                      .places = {},
                      .note = "lesson " + lesson.name + " version " + std::to_string(lesson.version) +
                              " was not used: it was learnt with the layout " + lesson.layout};
  }
  return layout.value_or(Layout::kAuto);
}

// Of what else the answers depend on: the lessons' files.
std::string settings_with_lessons(const std::string& settings, const std::vector<LessonPick>& picks) {
  std::string text = settings + "\n";
  for (const LessonPick& pick : picks) text += (pick.lesson ? pick.lesson->sha256 : "none") + "\n";
  return sha256_hex(text);
}

// Before the lesson rewrites the answer. `asked` came from the caller, the answer for `prepared`.
HeadInput input_of(const LessonPick& pick, const DecisionRequest& request, const Question& asked,
                   const Question& prepared, const Answer& answer) {
  HeadInput out;
  if (!pick.taught() || answer.cue_states.size() < asked.cues.size()) return out;
  out.states.assign(answer.cue_states.begin() + static_cast<std::ptrdiff_t>(asked.cues.size()),
                    answer.cue_states.end());
  out.read_alone = request.questions.size() == 1 && asked.cues.empty() && !prepared.scored && !request.hidden_state;
  if (!prepared.scored) return out;
  for (const OptionAnswer& option : answer.options) out.zero_shot_scores.push_back(option.score);
  return out;
}

std::optional<Error> not_calibrated(const std::vector<Question>& questions, const std::vector<Answer>& answers) {
  for (std::size_t i = 0; i < answers.size(); i++) {
    const Answer& answer = answers[i];
    if (answer.calibrated) continue;
    const std::string& name = questions[i].name.empty() ? answer.question_id : questions[i].name;
    return invalid_argument("x_calibrated", "There is no calibration for question \"" + name +
                                                "\"; leave x_calibrated out or say false" +
                                                (answer.lesson.note.empty() ? "." : ": " + answer.lesson.note + "."));
  }
  return std::nullopt;
}

// Lessons were learnt from texts; what they would make of an image nobody knows.
Result<std::vector<LessonPick>> pick_none(const DecisionRequest& request) {
  if (request.lesson != "auto" && request.lesson != "none")
    return invalid_argument("lesson", "Lessons are for texts; leave the images or the lesson out.");
  return std::vector<LessonPick>(request.questions.size());
}

}  // namespace

Result<std::vector<LessonPick>> LessonDecider::pick(const DecisionRequest& request) const {
  if (!request.images.empty()) return pick_none(request);
  const std::shared_ptr<const LessonShelf> shelf = book_.shelf();
  std::vector<LessonPick> picks;
  bool any = false;
  for (const Question& question : request.questions) {
    Result<LessonPick> pick = pick_lesson(*shelf, request.lesson, question);
    if (!pick.ok()) return pick.error();
    if (request.lesson == "auto" && request.readout != Readout::kAuto && pick->taught()) {
      const Lesson& lesson = pick->lesson->lesson;
      pick->note = "lesson " + lesson.name + " version " + std::to_string(lesson.version) +
                   " was not used: the request names a readout";
      pick->lesson = nullptr;
    }
    any = any || pick->lesson != nullptr;
    picks.push_back(std::move(pick).value());
  }
  if (any || request.lesson == "auto" || request.lesson == "none") return picks;
  std::string why = "Lesson \"" + request.lesson + "\" is for none of the questions.";
  if (!picks.empty() && !picks.front().note.empty()) why = "The " + picks.front().note + ".";
  return invalid_argument("lesson", std::move(why));
}

Result<DecisionReply> LessonDecider::decide_with(const DecisionRequest& request, const std::vector<LessonPick>& picks) {
  std::vector<LessonPick> used = picks;
  std::vector<HeadInput> inputs;
  return answer(request, used, request.receipt, inputs);
}

Result<DecisionReply> LessonDecider::answer(const DecisionRequest& request, std::vector<LessonPick>& picks,
                                            bool receipt, std::vector<HeadInput>& inputs) {
  DecisionRequest prepared = request;
  prepared.receipt = receipt;
  prepared.lesson = "auto";
  prepared.calibrated = false;
  prepared.layout = layout_of(request, picks);
  const bool wants_scores = request.explain || request.hidden_state;
  for (std::size_t i = 0; i < picks.size(); i++) prepare_question(picks[i], wants_scores, prepared.questions[i]);
  if (request.on_answer) {
    prepared.on_answer = [&](std::size_t index, const Answer& came) {
      Answer answer = came;
      const Status applied = apply_lesson(picks[index], request.questions[index], answer);
      // decide() meets the same error again.
      if (applied.ok() && (answer.calibrated || !request.calibrated)) request.on_answer(index, answer);
    };
  }
  Result<DecisionReply> reply = inner_->decide(prepared);
  if (!reply.ok()) return reply;
  for (std::size_t i = 0; i < picks.size(); i++) {
    const Question& asked = request.questions[i];
    inputs.push_back(input_of(picks[i], request, asked, prepared.questions[i], reply->answers[i]));
    if (Status applied = apply_lesson(picks[i], asked, reply->answers[i]); !applied.ok()) return applied.error();
  }
  if (request.calibrated) {
    if (std::optional<Error> missing = not_calibrated(request.questions, reply->answers)) return std::move(*missing);
  }
  const bool any =
      std::any_of(picks.begin(), picks.end(), [](const LessonPick& pick) { return pick.lesson != nullptr; });
  if (any && reply->receipt) {
    reply->receipt->settings = settings_with_lessons(reply->receipt->settings, picks);
    reply->receipt->scores = scores_sha256(reply->answers);
  }
  return reply;
}

Result<DecisionReply> LessonDecider::decide(const DecisionRequest& request) {
  Result<std::vector<LessonPick>> picks = pick(request);
  if (!picks.ok()) return picks.error();
  // Decisions on images are not kept: what was decided could not be learnt from its text.
  const bool watched = watcher_ && request.images.empty();
  std::vector<HeadInput> inputs;
  Result<DecisionReply> reply = answer(request, *picks, request.receipt || watched, inputs);
  if (!reply.ok()) return reply;
  if (watched) watcher_({.request = request, .picks = *picks, .inputs = inputs, .reply = *reply});
  if (!request.receipt) reply->receipt.reset();
  return reply;
}

}  // namespace assay::service
