// learn_calibration(): asks every labelled row as it is, and fits what makes its probabilities true.
#include <algorithm>
#include <map>
#include <utility>

#include "assay/teaching.h"
#include "service/learning_rows.h"
#include "service/learnt.h"
#include "service/lesson_choice.h"
#include "teach/calibrate.h"

namespace assay {
namespace {

using service::CheckedRows;

// What a row was answered with.
struct Asked {
  std::string readout;
  teach::CalibrationRow row;
};

Result<std::vector<Asked>> ask(Decider& decider, const CheckedRows& checked, const LearnOptions& options) {
  std::vector<Asked> asked(checked.rows.size());
  const auto request_of = [&](std::size_t i) {
    const LabelledQuestion& row = checked.rows[i];
    return DecisionRequest{.state = row.state,
                           .questions = {row.question},
                           .readout = options.readout,
                           .layout = options.layout,
                           .lesson = "none",
                           .priority = Priority::kBulk};
  };
  const auto take = [&](std::size_t i, const Answer& answer) {
    asked[i].readout = readout_name(answer.readout);
    asked[i].row = {.scores = {}, .expected = checked.rows[i].expected, .type = checked.rows[i].question.type};
    for (const OptionAnswer& option : answer.options) asked[i].row.scores.push_back(option.score);
  };
  const Status done = service::ask_all(
      decider, asked.size(), options.requests_at_once, request_of, [&](std::size_t i) { return checked.rows[i].where; },
      take, "asking", options.progress);
  if (!done.ok()) return done.error();
  return asked;
}

// A fit for each readout that answered; outcomes go back to their rows.
Status fit(const std::vector<Asked>& asked, const LearnOptions& options, LearnReport& report) {
  std::map<std::string, std::vector<std::size_t>> by_readout;
  for (std::size_t i = 0; i < asked.size(); i++) by_readout[asked[i].readout].push_back(i);
  report.before.resize(asked.size());
  report.after.resize(asked.size());
  for (const auto& [readout, places] : by_readout) {
    std::vector<teach::CalibrationRow> rows;
    for (const std::size_t place : places) rows.push_back(asked[place].row);
    Result<teach::CalibrateResult> fitted = teach::calibrate(rows, {.readout = readout, .seed = options.seed});
    if (!fitted.ok()) return fitted.error();
    for (std::size_t i = 0; i < places.size(); i++) {
      report.before[places[i]] = std::move(fitted->before[i]);
      report.after[places[i]] = std::move(fitted->after[i]);
    }
    for (Calibration& calibration : fitted->calibrations) report.lesson.calibrations.push_back(std::move(calibration));
  }
  return {};
}

// Also in the order of the options, so that a place means the same in all rows.
bool all_one_question(const std::vector<LabelledQuestion>& rows) {
  const LessonQuestion first = service::lesson_question(rows.front().question);
  return std::all_of(rows.begin(), rows.end(), [&](const LabelledQuestion& row) {
    const LessonQuestion other = service::lesson_question(row.question);
    return other.text == first.text && other.type == first.type && other.options == first.options;
  });
}

}  // namespace

Result<LearnReport> learn_calibration(Decider& decider, const std::vector<LabelledQuestion>& rows,
                                      const LearnOptions& options) {
  const Result<CheckedRows> checked = service::check_rows(rows);
  if (!checked.ok()) return checked.error();
  LearnReport report;
  Result<Lesson> lesson = service::begin_lesson(decider, options);
  if (!lesson.ok()) return lesson.error();
  report.lesson = std::move(lesson).value();
  const service::Stopwatch asking;
  const Result<std::vector<Asked>> asked = ask(decider, *checked, options);
  if (!asked.ok()) return asked.error();
  report.asking_seconds = asking.seconds();
  const service::Stopwatch fitting;
  if (Status fitted = fit(*asked, options, report); !fitted.ok()) return fitted.error();
  service::sum_up(options.seed, report);
  const bool one = all_one_question(checked->rows);
  const Question& question = checked->rows.front().question;
  if (one) report.lesson.question = service::lesson_question(question);
  report.lesson.labels = checked->rows.size();
  if (one) service::count_labels(checked->rows, question, report.lesson);
  report.lesson.accuracy = report.lesson.accuracy_zero_shot = accuracy(report.after);
  report.lesson.mean_confidence = service::mean_confidence(report.after);
  if (checked->duplicates > 0)
    report.notes.push_back(std::to_string(checked->duplicates) + " rows stand twice and count once");
  if (Status found = service::add_thresholds(report.after, one ? &question : nullptr, options, report); !found.ok())
    return found.error();
  report.fitting_seconds = fitting.seconds();
  return report;
}

}  // namespace assay
