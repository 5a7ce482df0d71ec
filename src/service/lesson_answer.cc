#include "service/lesson_answer.h"

#include <utility>

#include "decision/readout.h"
#include "teach/apply.h"

namespace assay::service {
namespace {

void set_probabilities(const std::vector<double>& probabilities, const Question& question, Answer& answer) {
  for (std::size_t i = 0; i < probabilities.size(); i++) answer.options[i].probability = probabilities[i];
  answer.best = decision::best_option(probabilities);
  decision::finish_answer(question, answer);
}

std::vector<double> scores_of(const Answer& answer) {
  std::vector<double> scores;
  for (const OptionAnswer& option : answer.options) scores.push_back(option.score);
  return scores;
}

// The head's scores in the place of the answer's.
Status answer_by_head(const LessonPick& pick, bool scored, const std::vector<std::vector<float>>& states,
                      Answer& answer) {
  const LinearHead& head = *pick.lesson->lesson.head;
  std::vector<float> x;
  for (const std::vector<float>& state : states) x.insert(x.end(), state.begin(), state.end());
  std::vector<double> zero_shot;
  if (scored) {
    const std::vector<double> logs = log_probabilities(answer);
    for (const std::size_t place : pick.places) zero_shot.push_back(logs[place]);
  }
  const Result<std::vector<double>> scores = teach::head_scores(head, x, pick.places.size(), zero_shot);
  if (!scores.ok()) return scores.error();
  for (std::size_t i = 0; i < pick.places.size(); i++) answer.options[pick.places[i]].score = (*scores)[i];
  answer.readout = Readout::kTaught;
  answer.reliability = Reliability::kUnknown;
  return {};
}

// Probabilities out of the answer's scores by the lesson's calibration. Without one a head's scores are taken as they
// are, and a readout's answer stays what it was.
Status calibrate(const LessonPick& pick, const Question& question, Answer& answer) {
  const Calibration* calibration =
      teach::find_calibration(pick.lesson->lesson.calibrations, readout_name(answer.readout),
                              question_type_name(question.type), question.options.size());
  if (calibration == nullptr && !pick.taught()) return {};
  const std::vector<double> scores = scores_of(answer);
  const Result<std::vector<double>> probabilities =
      calibration != nullptr ? teach::calibrated(*calibration, scores) : decision::probabilities(scores, 1.0);
  if (!probabilities.ok()) return probabilities.error();
  answer.calibrated = calibration != nullptr;
  set_probabilities(*probabilities, question, answer);
  return {};
}

void apply_threshold(const Lesson& lesson, Answer& answer) {
  const OptionAnswer& best = answer.options[answer.best];
  const Threshold* threshold = teach::threshold_for(lesson.thresholds, best.id);
  if (threshold == nullptr) return;
  answer.lesson.threshold = threshold->value;
  answer.lesson.risk = threshold->risk;
  const bool act = threshold->value && best.probability >= *threshold->value;
  answer.lesson.action = act ? Action::kAct : Action::kEscalate;
  if (!act) answer.lesson.fallback = lesson.fallback;
}

}  // namespace

std::vector<double> log_probabilities(const Answer& answer) {
  std::vector<double> scores = scores_of(answer);
  const double all = decision::log_sum_exp(scores);
  for (double& score : scores) score -= all;
  return scores;
}

void prepare_question(const LessonPick& pick, bool wants_scores, Question& question) {
  if (!pick.taught()) return;
  const LinearHead& head = *pick.lesson->lesson.head;
  question.cues.insert(question.cues.end(), head.cues.begin(), head.cues.end());
  const bool needs_scores = head.prior_weight > 0 || head.options.size() < pick.places.size();
  question.scored = question.scored && (wants_scores || needs_scores);
}

Status apply_lesson(const LessonPick& pick, const Question& question, Answer& answer) {
  answer.lesson.note = pick.note;
  if (!pick.lesson) return {};
  const Lesson& lesson = pick.lesson->lesson;
  const bool taught = pick.taught();
  if (taught) {
    // The caller's own cues stand first.
    const auto own = static_cast<std::ptrdiff_t>(question.cues.size());
    const std::vector<std::vector<float>> states(answer.cue_states.begin() + own, answer.cue_states.end());
    answer.cue_states.resize(question.cues.size());
    Question prepared = question;
    prepare_question(pick, false, prepared);
    if (Status headed = answer_by_head(pick, prepared.scored, states, answer); !headed.ok()) return headed;
  }
  if (Status calibrated = calibrate(pick, question, answer); !calibrated.ok()) return calibrated;
  if (!taught && !answer.calibrated) {
    answer.lesson.note = "lesson " + lesson.name + " version " + std::to_string(lesson.version) +
                         " was not used: it has no calibration for " + readout_name(answer.readout) + " with " +
                         std::to_string(question.options.size()) + " options";
    return {};
  }
  answer.lesson.used =
      LessonUse{.name = lesson.name, .version = lesson.version, .sha256 = pick.lesson->sha256, .taught = taught};
  apply_threshold(lesson, answer);
  return {};
}

}  // namespace assay::service
