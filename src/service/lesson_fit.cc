// LessonOffice::fit(): from what people said of decisions to the next version.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "service/lesson_choice.h"
#include "service/lesson_office.h"
#include "service/lesson_views.h"

namespace assay::service {
namespace {

constexpr std::size_t kPageRows = 1000;

std::string time_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc));
}

std::optional<std::size_t> place_of(const Question& question, const std::string& id) {
  for (std::size_t i = 0; i < question.options.size(); i++) {
    if (question.options[i].id == id) return i;
  }
  return std::nullopt;
}

// Labelled rows by their state: of two words on one the later counts, and feedback is later than what a lesson began
// with.
class RowsByState {
 public:
  void put(LabelledQuestion row) {
    const auto [at, is_new] = places_.try_emplace(to_json_text(row.state), rows_.size());
    if (is_new) {
      rows_.push_back(std::move(row));
    } else {
      rows_[at->second] = std::move(row);
    }
  }
  std::vector<LabelledQuestion> take() { return std::move(rows_); }

 private:
  std::vector<LabelledQuestion> rows_;
  std::unordered_map<std::string, std::size_t> places_;
};

// What people said of one question as it is kept.
Status add_feedback_rows(store::DecisionStore& store, const std::string& fingerprint, const Question& question,
                         const std::function<Result<Value>(const std::string&)>& parse_json, RowsByState& rows) {
  const store::AnswerFilter filter{.fingerprint = fingerprint, .labelled_only = true};
  std::optional<std::int64_t> after;
  while (true) {
    const Result<std::vector<store::AnswerRow>> page = store.answers(filter, after, kPageRows);
    if (!page.ok()) return page.error();
    for (const store::AnswerRow& row : *page) {
      if (row.state.empty() || !row.answer.label) continue;
      Result<Value> state = parse_json(row.state);
      const std::optional<std::size_t> place = place_of(question, row.answer.options[row.answer.label->option].id);
      if (!state.ok() || !place) continue;
      rows.put({.state = std::move(state).value(),
                .question = question,
                .expected = *place,
                .where = "decision " + row.decision_id});
    }
    if (page->size() < kPageRows) return {};
    after = page->back().place;
  }
}

}  // namespace

Result<std::vector<LabelledQuestion>> LessonOffice::labelled_rows(const Lesson& lesson) const {
  const Question question = question_of(*lesson.question);
  RowsByState rows;
  const std::string path = lesson_rows_path(book_->folder(), lesson.name);
  std::ifstream file(path, std::ios::binary);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string where = "'" + path + "', line " + std::to_string(++number);
    const Result<Value> value = options_.parse_json(line);
    const Value* const state = value.ok() ? value->find("state") : nullptr;
    const Value* const expected = value.ok() ? value->find("expected") : nullptr;
    if (state == nullptr || expected == nullptr || expected->string() == nullptr)
      return invalid_argument("name", where + " is no labelled row.");
    const std::optional<std::size_t> place = place_of(question, *expected->string());
    if (!place) return invalid_argument("name", where + ": \"" + *expected->string() + "\" is no option.");
    rows.put({.state = *state, .question = question, .expected = *place, .where = where});
  }
  const Result<std::vector<store::QuestionCount>> asked = store_->questions();
  if (!asked.ok()) return asked.error();
  const std::string wanted = question_fingerprint(question);
  for (const store::QuestionCount& kept : *asked) {
    // The same options in another order are the same question to a lesson, and another to the store.
    const Question same{.id = "q", .text = kept.question, .type = kept.type, .options = kept.options};
    if (kept.labelled == 0 || question_fingerprint(same) != wanted) continue;
    if (Status read = add_feedback_rows(*store_, kept.fingerprint, question, options_.parse_json, rows); !read.ok())
      return read.error();
  }
  return rows.take();
}

Result<Lesson> LessonOffice::learn(const Lesson& lesson, const FitOptions& options) {
  const Result<std::vector<LabelledQuestion>> rows = labelled_rows(lesson);
  if (!rows.ok()) return rows.error();
  if (rows->size() < lesson.labels)
    return invalid_argument("name", "Lesson \"" + lesson.name + "\" was learnt from " + std::to_string(lesson.labels) +
                                        " labels, and " + std::to_string(rows->size()) +
                                        " are kept here: a new version would know less. Keep texts "
                                        "(--keep-decisions texts) and rows (assay teach --keep-rows).");
  LearnOptions learn{.name = lesson.name,
                     .created = time_text(),
                     .risk = options.risk,
                     .level = options.level,
                     .fallback = lesson.fallback,
                     .layout = layout_from_name(lesson.layout).value_or(Layout::kAuto)};
  // What the version before promised is promised again.
  if (!learn.risk && !lesson.thresholds.empty()) {
    learn.risk = lesson.thresholds.front().risk;
    learn.risk_by_option = !lesson.thresholds.front().option.empty();
    if (!learn.risk_by_option) learn.level = lesson.thresholds.front().level;
  }
  if (options.method == "calibrate" || (options.method == "auto" && !lesson.head)) {
    Result<LearnReport> report = learn_calibration(decider_.inner(), *rows, learn);
    if (!report.ok()) return report.error();
    return std::move(report->lesson);
  }
  TeachOptions teach{.learn = std::move(learn), .method = options.method, .zero_shot_rows = 0, .learning_curve = false};
  Result<TeachReport> report = learn_lesson(decider_.inner(), question_of(*lesson.question), *rows, teach);
  if (!report.ok()) return report.error();
  return std::move(report->learn.lesson);
}

Result<Value> LessonOffice::fit(const std::string& name, const FitOptions& options) {
  if (!store_ || !options_.parse_json)
    return Error{ErrorCode::kUnavailable, "This server keeps no decisions, so there is nothing to learn from.", ""};
  if (store_->keep() != store::Keep::kTexts)
    return Error{ErrorCode::kUnavailable,
                 "This server keeps no states of decisions (--keep-decisions texts), and a fit reads them.", ""};
  const std::unique_lock<std::mutex> one_at_a_time(fitting_, std::try_to_lock);
  if (!one_at_a_time.owns_lock())
    return Error{ErrorCode::kTooBusy, "Another lesson is being fitted; try again when it is done.", "", 5};
  const Result<LessonVersions> known = find(name);
  if (!known.ok()) return known.error();
  const Lesson& active = known->active_lesson()->lesson;
  if (!active.question)
    return invalid_argument("name", "Lesson \"" + name + "\" is for no single question; fit it with assay calibrate.");
  Result<Lesson> lesson = learn(active, options);
  if (!lesson.ok()) return lesson.error();
  const Result<SharedLesson> added = book_->add(std::move(lesson).value(), options.shadow);
  if (!added.ok()) return added.error();
  return version_view(**added);
}

}  // namespace assay::service
