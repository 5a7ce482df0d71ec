// LessonOffice::fit(): from what people said of decisions to the next version.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "base/sha256.h"
#include "service/kept_states.h"
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

Value count_value(std::size_t count) { return Value(Value::Integer{std::to_string(count)}); }

// Pages until there are no more.
Status each_answer(store::DecisionStore& store, const store::AnswerFilter& filter,
                   const std::function<void(const store::AnswerRow& row)>& take) {
  std::optional<std::int64_t> after;
  while (true) {
    const Result<std::vector<store::AnswerRow>> page = store.answers(filter, after, kPageRows);
    if (!page.ok()) return page.error();
    for (const store::AnswerRow& row : *page) take(row);
    if (page->size() < kPageRows) return {};
    after = page->back().place;
  }
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
    const auto [at, is_new] = places_.try_emplace(row.state_sha256, rows_.size());
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

// What a question is called in the store when its options come in this order; nothing: it has others. The question's
// words need not be kept there.
std::optional<std::string> stored_fingerprint(const Question& question, const std::vector<Option>& order) {
  std::vector<Option> options;
  for (const Option& option : order) {
    const std::optional<std::size_t> place = place_of(question, option.id);
    if (!place) return std::nullopt;
    options.push_back(question.options[*place]);
  }
  if (options.size() != question.options.size()) return std::nullopt;
  return store::question_fingerprint(question.text, question.type, options);
}

// A row of feedback, and whether it can be learnt from.
std::optional<LabelledQuestion> row_of(const store::AnswerRow& kept, const Question& question,
                                       const std::function<Result<Value>(const std::string&)>& parse_json) {
  if (!kept.answer.label) return std::nullopt;
  const std::optional<std::size_t> place = place_of(question, kept.answer.options[kept.answer.label->option].id);
  if (!place) return std::nullopt;
  LabelledQuestion out{.state = Value(),
                       .question = question,
                       .expected = *place,
                       .where = "decision " + kept.decision_id,
                       .decision_id = kept.decision_id,
                       .state_sha256 = kept.state_sha256};
  if (kept.state.empty()) return out;
  Result<Value> state = parse_json(kept.state);
  if (!state.ok()) return std::nullopt;
  out.state = std::move(state).value();
  return out;
}

}  // namespace

Result<LessonOffice::LabelledRows> LessonOffice::labelled_rows(const Lesson& lesson,
                                                               const std::vector<std::string>& cues,
                                                               const HiddenStates& kept_states) const {
  const Question question = question_of(*lesson.question);
  LabelledRows out;
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
    rows.put({.state = *state,
              .question = question,
              .expected = *place,
              .where = where,
              .decision_id = {},
              .state_sha256 = sha256_hex(to_json_text(*state))});
  }
  const Result<std::vector<store::QuestionCount>> asked = store_->questions();
  if (!asked.ok()) return asked.error();
  for (const store::QuestionCount& kept : *asked) {
    // The same options in another order are the same question to a lesson, and another to the store.
    if (kept.labelled == 0 || stored_fingerprint(question, kept.options) != kept.fingerprint) continue;
    const store::AnswerFilter filter{.fingerprint = kept.fingerprint, .labelled_only = true};
    const auto take = [&](const store::AnswerRow& answer) {
      std::optional<LabelledQuestion> row = row_of(answer, question, options_.parse_json);
      const bool is_known =
          row && (!row->state.is_null() || (!cues.empty() && kept_states.find(question, cues, row->state_sha256)));
      if (is_known) {
        rows.put(std::move(*row));
      } else {
        out.left_out++;
      }
    };
    if (Status read = each_answer(*store_, filter, take); !read.ok()) return read.error();
  }
  out.rows = rows.take();
  out.without_text = static_cast<std::size_t>(
      std::count_if(out.rows.begin(), out.rows.end(), [](const LabelledQuestion& row) { return row.state.is_null(); }));
  return out;
}

namespace {

// What the fit is to promise: what is asked for, else what the version before promised.
LearnOptions learn_options(const Lesson& lesson, const FitOptions& options) {
  LearnOptions learn{.name = lesson.name,
                     .created = time_text(),
                     .risk = options.risk,
                     .level = options.level,
                     .fallback = lesson.fallback,
                     .layout = layout_from_name(lesson.layout).value_or(Layout::kAuto)};
  if (!learn.risk && !lesson.thresholds.empty()) {
    learn.risk = lesson.thresholds.front().risk;
    learn.risk_by_option = !lesson.thresholds.front().option.empty();
    learn.risk_horizon = lesson.thresholds.front().horizon;
    if (!learn.risk_by_option) learn.level = lesson.thresholds.front().level;
  }
  return learn;
}

// How the head is looked for. Without all texts what was kept is all that there is: the hidden states behind the active
// version's cues.
TeachOptions teach_options(const Lesson& lesson, const FitOptions& options, bool has_all_texts) {
  TeachOptions teach{
      .learn = learn_options(lesson, options), .method = options.method, .zero_shot_rows = 0, .learning_curve = false};
  // A version with a part of the zero-shot readout is asked again whether it is worth one.
  if (has_all_texts && lesson.head && lesson.head->prior_weight > 0)
    teach.zero_shot_rows = TeachOptions{}.zero_shot_rows;
  const bool is_update = options.method == "update";
  if (is_update) {
    teach.method = lesson.head->method;
    teach.regularisation = lesson.head->regularisation;
  }
  // All of them: a version on fewer would find nothing of what this one kept.
  teach.all_cues = is_update || !has_all_texts;
  if (teach.all_cues) teach.cues = lesson.head->cues;
  return teach;
}

Error too_few(const Lesson& lesson, std::size_t rows) {
  return invalid_argument("name", "Lesson \"" + lesson.name + "\" was learnt from " + std::to_string(lesson.labels) +
                                      " labels, and " + std::to_string(rows) +
                                      " are kept here: a new version would know less. Keep texts or hidden states "
                                      "(--keep-decisions texts, states) and rows (assay teach --keep-rows).");
}

}  // namespace

Result<LessonOffice::Learnt> LessonOffice::learn(const Lesson& lesson, const FitOptions& options) {
  const bool is_headless = options.method == "calibrate" || (options.method == "auto" && !lesson.head);
  if (options.method == "update" && !lesson.head)
    return invalid_argument("method", "Lesson \"" + lesson.name + "\" has no head that could be updated.");
  const std::vector<std::string> cues = lesson.head && !is_headless ? lesson.head->cues : std::vector<std::string>();
  KeptStates kept(*store_, bits_, lesson.name);
  const Result<LabelledRows> rows = labelled_rows(lesson, cues, kept);
  if (!rows.ok()) return rows.error();
  if (rows->rows.size() < lesson.labels) return too_few(lesson, rows->rows.size());
  if (is_headless) {
    Result<LearnReport> report = learn_calibration(decider_.inner(), rows->rows, learn_options(lesson, options));
    if (!report.ok()) return report.error();
    return Learnt{.lesson = std::move(report->lesson), .left_out = rows->left_out};
  }
  TeachOptions teach = teach_options(lesson, options, rows->without_text == 0);
  if (keeps_states_) teach.hidden_states = &kept;
  Result<TeachReport> report = learn_lesson(decider_.inner(), question_of(*lesson.question), rows->rows, teach);
  if (!report.ok()) return report.error();
  if (keeps_states_) kept.end();
  states_read_ += report->states_read;
  states_kept_ += report->states_kept;
  return Learnt{.lesson = std::move(report->learn.lesson),
                .read = report->states_read,
                .kept = report->states_kept,
                .left_out = rows->left_out};
}

Result<Value> LessonOffice::fit(const std::string& name, const FitOptions& options) {
  if (!store_ || !options_.parse_json)
    return Error{ErrorCode::kUnavailable, "This server keeps no decisions, so there is nothing to learn from.", ""};
  if (store_->keep() != store::Keep::kTexts && !keeps_states_)
    return Error{
        ErrorCode::kUnavailable,
        "This server keeps neither states of decisions nor hidden states (--keep-decisions texts, states), and a "
        "fit learns from them.",
        ""};
  const std::unique_lock<std::mutex> one_at_a_time(fitting_, std::try_to_lock);
  if (!one_at_a_time.owns_lock())
    return Error{ErrorCode::kTooBusy, "Another lesson is being fitted; try again when it is done.", "", 5};
  const Result<LessonVersions> known = find(name);
  if (!known.ok()) return known.error();
  const Lesson& active = known->active_lesson()->lesson;
  if (!active.question)
    return invalid_argument("name", "Lesson \"" + name + "\" is for no single question; fit it with assay calibrate.");
  Result<Learnt> learnt = learn(active, options);
  if (!learnt.ok()) return learnt.error();
  const Result<SharedLesson> added = book_->add(std::move(learnt->lesson), options.shadow);
  if (!added.ok()) return added.error();
  Value::Object view = *version_view(**added).object();
  view.emplace_back("rows_read", count_value(learnt->read));
  view.emplace_back("rows_kept", count_value(learnt->kept));
  view.emplace_back("rows_left_out", count_value(learnt->left_out));
  return Value(std::move(view));
}

}  // namespace assay::service
