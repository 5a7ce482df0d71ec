// learn_lesson(): reads hidden states, chooses a head, calibrates it, finds thresholds.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "assay/teaching.h"
#include "decision/cue.h"
#include "service/cue_states.h"
#include "service/learning_rows.h"
#include "service/learnt.h"
#include "service/lesson_answer.h"
#include "service/lesson_choice.h"
#include "teach/apply.h"
#include "teach/calibrate.h"
#include "teach/cross_validate.h"
#include "teach/folds.h"
#include "teach/learning_curve.h"
#include "teach/lift.h"
#include "teach/prior_choice.h"

namespace assay {
namespace {

using service::CheckedRows;

constexpr unsigned kFitThreadsMax = 4;  // each has some tens of megabytes of its own

Status check_teaching(const CheckedRows& checked, const Question& question, const TeachOptions& options) {
  for (const std::string& cue : options.cues) {
    if (Status good = decision::check_cue(cue); !good.ok()) return good;
  }
  std::vector<std::size_t> counts(question.options.size(), 0);
  for (const LabelledQuestion& row : checked.rows) {
    if (service::question_fingerprint(row.question) != service::question_fingerprint(question))
      return invalid_argument("question", row.where + ": another question than the lesson's.");
    counts[row.expected]++;
  }
  if (std::count_if(counts.begin(), counts.end(), [](std::size_t count) { return count > 0; }) < 2)
    return invalid_argument("rows", "All labelled rows have one label; a lesson needs at least two of the options.");
  return {};
}

// The labelled rows, and behind them each option's words.
Result<std::vector<teach::TeachingRow>> read_rows(Decider& decider, const Question& question,
                                                  const CheckedRows& checked, const std::vector<std::string>& cues,
                                                  const TeachOptions& options, TeachReport& report) {
  const std::vector<Value> words = service::states_of_words(question);
  std::vector<service::CueReading> readings;
  for (const LabelledQuestion& row : checked.rows) {
    const bool is_known = !row.state.is_null() || row.state_sha256.empty();
    readings.push_back({.state = is_known ? &row.state : nullptr,
                        .where = row.where,
                        .state_sha256 = row.state_sha256,
                        .decision_id = row.decision_id});
  }
  for (std::size_t i = 0; i < words.size(); i++)
    readings.push_back({.state = &words[i], .where = "the words of option \"" + question.options[i].id + "\""});
  Result<service::ReadCueStates> states =
      service::read_cue_states(decider, question, cues, readings, options.learn, options.hidden_states);
  if (!states.ok()) return states.error();
  report.states_read = states->read;
  report.states_kept = states->kept;
  std::vector<teach::TeachingRow> rows;
  for (std::size_t i = 0; i < states->states.size(); i++) {
    const bool is_words = i >= checked.rows.size();
    rows.push_back({.option = is_words ? i - checked.rows.size() : checked.rows[i].expected,
                    .always_train = is_words,
                    .by_cue = std::move(states->states[i])});
  }
  return rows;
}

// One cue in the place of all, so that there is nothing to choose from.
void join_cues(std::vector<teach::TeachingRow>& rows) {
  for (teach::TeachingRow& row : rows) {
    std::vector<float> all;
    for (const std::vector<float>& state : row.by_cue) all.insert(all.end(), state.begin(), state.end());
    row.by_cue = {std::move(all)};
  }
}

// The texts of chosen cues.
std::vector<std::string> texts_of(const std::vector<std::size_t>& chosen, const std::vector<std::string>& cues,
                                  const TeachOptions& options) {
  if (options.all_cues) return cues;
  std::vector<std::string> out;
  for (const std::size_t cue : chosen) out.push_back(cues[cue]);
  return out;
}

// The rows that are asked without the lesson: a random part of them where there are many.
std::vector<std::size_t> zero_shot_rows(std::size_t count, const TeachOptions& options) {
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (count <= options.zero_shot_rows) return places;
  teach::Random random(options.learn.seed);
  random.shuffle(places);
  places.resize(options.zero_shot_rows);
  std::sort(places.begin(), places.end());
  return places;
}

// What rows were answered without the lesson.
struct ZeroShot {
  std::vector<std::size_t> places;  // of the rows, rising
  std::vector<Outcome> outcomes;
  std::vector<std::vector<double>> log_probs;
};

Result<ZeroShot> ask_zero_shot(Decider& decider, const CheckedRows& checked, std::vector<std::size_t> places,
                               const LearnOptions& options) {
  ZeroShot out{.places = {}, .outcomes = std::vector<Outcome>(places.size()), .log_probs = {}};
  out.log_probs.resize(places.size());
  const auto request_of = [&](std::size_t i) {
    const LabelledQuestion& row = checked.rows[places[i]];
    return DecisionRequest{.state = row.state,
                           .questions = {row.question},
                           .readout = options.readout,
                           .layout = options.layout,
                           .lesson = "none",
                           .priority = Priority::kBulk};
  };
  const auto take = [&](std::size_t i, const Answer& answer) {
    Outcome& outcome = out.outcomes[i];
    outcome = {.probabilities = {}, .expected = checked.rows[places[i]].expected, .predicted = answer.best};
    for (const OptionAnswer& option : answer.options) outcome.probabilities.push_back(option.probability);
    out.log_probs[i] = service::log_probabilities(answer);
  };
  const Status asked = service::ask_all(
      decider, places.size(), options.requests_at_once, request_of,
      [&](std::size_t i) { return checked.rows[places[i]].where; }, take, "asking", options.progress);
  if (!asked.ok()) return asked.error();
  out.places = std::move(places);
  return out;
}

// Gives the zero-shot readout the part in the head's answers that rows left out of the head show it to be worth. The
// other rows are asked only where it is worth one, since the calibration needs them all.
Status weigh_prior(Decider& decider, const CheckedRows& checked, const std::vector<teach::TeachingRow>& head_rows,
                   const ZeroShot& zero_shot, const LearnOptions& options, teach::HeadChoice& choice,
                   TeachReport& report) {
  const std::vector<std::size_t>& known = choice.head.options;
  std::vector<teach::PriorRow> rows;
  std::vector<bool> asked(checked.rows.size(), false);
  for (std::size_t i = 0; i < zero_shot.places.size(); i++) {
    const std::size_t place = zero_shot.places[i];
    asked[place] = true;
    if (choice.measured && !choice.scores[place].empty())
      rows.push_back({choice.scores[place], zero_shot.log_probs[i], checked.rows[place].expected});
  }
  if (rows.empty()) return {};
  const teach::PriorChoice prior = teach::choose_prior(rows, known, teach::prior_weight_max(head_rows));
  report.prior_rows = rows.size();
  for (const teach::PriorTrial& trial : prior.trials)
    report.priors.push_back({.weight = trial.weight,
                             .log_loss = trial.measured.log_loss,
                             .accuracy = trial.measured.accuracy,
                             .change = trial.change.mean,
                             .change_error = trial.change.error});
  if (prior.weight == 0) return {};
  std::vector<std::size_t> others;
  for (std::size_t place = 0; place < asked.size(); place++) {
    if (!asked[place]) others.push_back(place);
  }
  const Result<ZeroShot> rest = ask_zero_shot(decider, checked, std::move(others), options);
  if (!rest.ok()) return rest.error();
  for (const ZeroShot* part : {&zero_shot, &*rest}) {
    for (std::size_t i = 0; i < part->places.size(); i++) {
      std::vector<double>& scores = choice.scores[part->places[i]];
      if (scores.empty()) continue;
      Result<std::vector<double>> joined = teach::joined_scores(known, scores, prior.weight, part->log_probs[i]);
      if (!joined.ok()) return joined.error();
      scores = std::move(*joined);
    }
  }
  choice.head.prior_weight = prior.weight;
  return {};
}

teach::ChoiceSettings choice_settings(const TeachOptions& options) {
  teach::ChoiceSettings settings{.seed = options.learn.seed};
  settings.threads = std::clamp(std::thread::hardware_concurrency(), 1U, kFitThreadsMax);
  if (options.method == "lda") settings.method = teach::HeadMethod::kLda;
  if (options.method == "ridge") settings.method = teach::HeadMethod::kRidge;
  settings.regularisation = options.regularisation;
  settings.prior_weight = 0;
  return settings;
}

// How the head's scores become probabilities, from those of rows left out.
Result<std::vector<Outcome>> calibrate_head(const teach::HeadChoice& choice, const CheckedRows& checked,
                                            const Question& question, const LearnOptions& options, Lesson& lesson) {
  std::vector<teach::CalibrationRow> rows;
  for (std::size_t i = 0; i < checked.rows.size(); i++)
    rows.push_back({.scores = choice.scores[i], .expected = checked.rows[i].expected, .type = question.type});
  Result<teach::CalibrateResult> fitted = teach::calibrate(rows, {.readout = "taught", .seed = options.seed});
  if (!fitted.ok()) return fitted.error();
  lesson.calibrations = std::move(fitted->calibrations);
  return std::move(fitted->after);
}

// Rows left out had one label less. Raises the calibrations by what that label is worth, and gives the answers as they
// are expected of new rows: thresholds and the confidence that drift is measured by are of those.
std::vector<Outcome> raise_calibrations(const std::vector<Outcome>& left_out, LearnReport& report) {
  const auto& labels = report.lesson.labels_by_option;
  std::vector<std::size_t> rows;  // with the option's own words
  for (const Outcome& outcome : left_out) rows.push_back(labels[outcome.expected].second + 1);
  const teach::Lift lift = teach::lift_of(left_out, rows);
  for (Calibration& calibration : report.lesson.calibrations) teach::raise(calibration, lift.shift);
  std::vector<Outcome> expected;
  for (const Outcome& outcome : left_out) expected.push_back(teach::raised(outcome, lift.shift));
  constexpr double kToldFrom = 0.02;
  if (lift.accuracy - lift.accuracy_left_out >= kToldFrom)
    report.notes.push_back("a row left out leaves its option with few labels: of new rows about " +
                           std::to_string(std::lround(100 * lift.accuracy)) +
                           " % are expected to be right, and probabilities say so");
  return expected;
}

void tell_tried(const teach::HeadChoice& choice, const std::vector<std::string>& cues, const TeachOptions& options,
                TeachReport& report) {
  for (const teach::TriedHead& trial : choice.tried) {
    TriedHead head{.method = teach::head_method_name(trial.method),
                   .regularisation = trial.regularisation,
                   .cues = texts_of(trial.cues, cues, options),
                   .log_loss = trial.log_loss,
                   .accuracy = trial.accuracy};
    report.tried.push_back(std::move(head));
  }
  std::stable_sort(report.tried.begin(), report.tried.end(),
                   [](const TriedHead& a, const TriedHead& b) { return a.log_loss < b.log_loss; });
}

// The option with the highest score of a head, for a row; nothing when it cannot be said.
std::optional<std::size_t> answer_of(const LinearHead& head, const std::vector<std::size_t>& cues,
                                     const teach::TeachingRow& row, std::size_t option_count) {
  std::vector<float> x;
  for (const std::size_t cue : cues) x.insert(x.end(), row.by_cue[cue].begin(), row.by_cue[cue].end());
  LinearHead alone = head;
  alone.prior_weight = 0;
  const Result<std::vector<double>> scores = teach::head_scores(alone, x, option_count, {});
  if (!scores.ok()) return std::nullopt;
  return static_cast<std::size_t>(std::max_element(scores->begin(), scores->end()) - scores->begin());
}

// The accuracy on the labelled rows outside of `trained` of a head fitted to those and the options' words; -1: not
// measured. Hidden states alone: no zero-shot answer has a part in it.
double accuracy_with(const std::vector<teach::TeachingRow>& rows, const std::vector<std::size_t>& trained,
                     const teach::HeadChoice& choice, double regularisation, std::size_t option_count) {
  std::vector<bool> is_trained(rows.size(), false);
  for (const std::size_t row : trained) is_trained[row] = true;
  std::vector<teach::TeachingRow> some;
  for (std::size_t i = 0; i < rows.size(); i++) {
    if (rows[i].always_train || is_trained[i]) some.push_back(rows[i]);
  }
  const teach::HeadMethod method = choice.head.method == "ridge" ? teach::HeadMethod::kRidge : teach::HeadMethod::kLda;
  const Result<LinearHead> head = teach::fit_head(some, choice.cues, method, regularisation, 0, choice.head.normalised);
  if (!head.ok()) return -1;
  std::size_t right = 0;
  std::size_t tested = 0;
  for (std::size_t i = 0; i < rows.size(); i++) {
    if (rows[i].always_train || is_trained[i]) continue;
    tested++;
    right += answer_of(*head, choice.cues, rows[i], option_count) == rows[i].option ? 1 : 0;
  }
  return tested == 0 ? -1 : static_cast<double>(right) / static_cast<double>(tested);
}

// Accuracy by labels an option, the last point being all of them with one row left out at a time; and what 50 more
// would bring.
void draw_curve(const std::vector<teach::TeachingRow>& rows, const teach::HeadChoice& choice, const Question& question,
                const LearnOptions& options, TeachReport& report) {
  constexpr std::size_t kRepeats = 3;
  constexpr double kMore = 50;
  std::vector<std::size_t> labels;
  for (const teach::TeachingRow& row : rows) {
    if (!row.always_train) labels.push_back(row.option);
  }
  std::vector<std::size_t> sizes = teach::curve_sizes(labels);
  if (sizes.empty()) return;
  sizes.pop_back();
  std::map<std::size_t, std::vector<double>> accuracies;
  std::map<std::size_t, double> by_option;
  for (const teach::CurveDraw& draw : teach::curve_draws(labels, sizes, kRepeats, options.seed)) {
    const double measured = accuracy_with(rows, draw.rows, choice, choice.head.regularisation, question.options.size());
    if (measured < 0) continue;
    accuracies[draw.size].push_back(measured);
    by_option[draw.size] = draw.labels;
  }
  for (const auto& [size, values] : accuracies) {
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    report.curve.push_back({.labels_by_option = by_option[size],
                            .accuracy = mean,
                            .spread = std::sqrt(squares / static_cast<double>(values.size()))});
  }
  const double options_count = static_cast<double>(question.options.size());
  const double all = static_cast<double>(labels.size()) / options_count;
  if (choice.accuracy >= 0)
    report.curve.push_back({.labels_by_option = all, .accuracy = choice.accuracy, .spread = choice.accuracy_error});
  std::vector<teach::CurvePoint> points;
  for (const CurvePoint& point : report.curve)
    points.push_back({.labels = point.labels_by_option, .accuracy = point.accuracy, .spread = point.spread});
  const std::optional<teach::CurvePrediction> more = teach::predict_accuracy(points, all + kMore / options_count);
  if (!more) return;
  report.accuracy_with_50_more = more->accuracy;
  report.accuracy_with_50_more_low = more->low;
  report.accuracy_with_50_more_high = more->high;
}

}  // namespace

Result<TeachReport> learn_lesson(Decider& decider, const Question& question, const std::vector<LabelledQuestion>& rows,
                                 const TeachOptions& options) {
  const LearnOptions& learn = options.learn;
  const Result<CheckedRows> checked = service::check_rows(rows);
  if (!checked.ok()) return checked.error();
  if (Status good = check_teaching(*checked, question, options); !good.ok()) return good.error();
  TeachReport report;
  LearnReport& out = report.learn;
  Result<Lesson> lesson = service::begin_lesson(decider, learn);
  if (!lesson.ok()) return lesson.error();
  out.lesson = std::move(lesson).value();
  // 1. Hidden states.
  std::vector<std::string> cues = options.cues;
  if (cues.empty()) cues.assign(decision::built_in_cues().begin(), decision::built_in_cues().end());
  const service::Stopwatch asking;
  Result<std::vector<teach::TeachingRow>> head_rows = read_rows(decider, question, *checked, cues, options, report);
  if (!head_rows.ok()) return head_rows.error();
  if (options.all_cues) join_cues(*head_rows);
  // 2. What the model says without the lesson.
  const std::vector<std::size_t> places = zero_shot_rows(checked->rows.size(), options);
  Result<ZeroShot> zero_shot = ask_zero_shot(decider, *checked, places, learn);
  if (!zero_shot.ok()) return zero_shot.error();
  out.asking_seconds = asking.seconds();
  // 3. The head, its calibration, its thresholds.
  const service::Stopwatch fitting;
  const std::size_t option_count = question.options.size();
  Result<teach::HeadChoice> choice = teach::choose_head(*head_rows, option_count, choice_settings(options));
  if (!choice.ok()) return choice.error();
  if (Status chosen = weigh_prior(decider, *checked, *head_rows, *zero_shot, learn, *choice, report); !chosen.ok())
    return chosen.error();
  choice->head.cues = texts_of(choice->cues, cues, options);
  const Result<std::vector<Outcome>> after = calibrate_head(*choice, *checked, question, learn, out.lesson);
  if (!after.ok()) return after.error();
  out.lesson.question = service::lesson_question(question);
  service::count_labels(checked->rows, question, out.lesson);
  out.lesson.accuracy = accuracy(*after);
  const std::vector<Outcome> expected = raise_calibrations(*after, out);
  out.lesson.mean_confidence = service::mean_confidence(expected);
  if (Status found = service::add_thresholds(expected, &question, learn, out); !found.ok()) return found.error();
  out.lesson.head = std::move(choice->head);
  tell_tried(*choice, cues, options, report);
  choice->head = *out.lesson.head;
  report.words_accuracy = accuracy_with(*head_rows, {}, *choice, 1, option_count);
  if (options.learning_curve) draw_curve(*head_rows, *choice, question, learn, report);
  out.fitting_seconds = fitting.seconds();
  // 4. Beside each other.
  if (!places.empty()) out.lesson.accuracy_zero_shot = accuracy(zero_shot->outcomes);
  out.before = std::move(zero_shot->outcomes);
  for (const std::size_t place : places) out.after.push_back((*after)[place]);
  service::sum_up(learn.seed, out);
  if (checked->duplicates > 0)
    out.notes.push_back(std::to_string(checked->duplicates) + " rows stand twice and count once");
  return report;
}

}  // namespace assay
