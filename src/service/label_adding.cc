// A teacher stands for rows, not for a version: which labels are new is found by holding what was taken in against what
// is labelled now, all of it. Whatever does not only grow makes it false, and then it is opened anew from all rows.

#include "service/label_adding.h"

#include <utility>
#include <vector>

#include "service/cue_states.h"
#include "service/lesson_choice.h"
#include "teach/cross_validate.h"

namespace assay::service {
namespace {

constexpr std::size_t kPageMarks = 10'000;

std::string version_text(const Lesson& lesson) {
  return "version " + std::to_string(lesson.version) + " of lesson \"" + lesson.name + "\"";
}

// Every mark, in pages, until `take` says false.
Status each_mark(store::DecisionStore& store, const std::function<Result<bool>(const store::LabelMark& mark)>& take) {
  for (std::int64_t after = 0;;) {
    const Result<std::vector<store::LabelMark>> page = store.label_marks(after, kPageMarks);
    if (!page.ok()) return page.error();
    for (const store::LabelMark& mark : *page) {
      const Result<bool> go_on = take(mark);
      if (!go_on.ok()) return go_on.error();
      if (!*go_on) return {};
    }
    if (page->size() < kPageMarks) return {};
    after = page->back().answer;
  }
}

// The head's numbers behind its cues joined.
teach::TeachingRow teaching_row(std::size_t option, const HiddenStates::OfCues& states) {
  teach::TeachingRow row{.option = option, .by_cue = {{}}, .zero_shot_log_probs = {}};
  for (const std::vector<float>& state : states) row.by_cue[0].insert(row.by_cue[0].end(), state.begin(), state.end());
  return row;
}

CueReading reading_of(const LabelledQuestion& row) {
  return {.state = row.state.is_null() ? nullptr : &row.state,
          .where = row.where,
          .state_sha256 = row.state_sha256,
          .decision_id = row.decision_id};
}

Result<ReadCueStates> read_states(const LearningFrom& from, const Lesson& lesson,
                                  const std::vector<CueReading>& readings, FitRows& counts) {
  Result<ReadCueStates> states = read_cue_states(from.decider, question_of(*lesson.question), lesson.head->cues,
                                                 readings, {}, from.keeps_states ? &from.kept : nullptr);
  if (!states.ok()) return states;
  counts.read += states->read;
  counts.kept += states->kept;
  return states;
}

void note_row(const LabelledQuestion& row, KeptTeacher& teacher) {
  teacher.rows.emplace(row.state_sha256, row.expected);
  teacher.rows_by_option[row.expected]++;
}

// What of the marks is new, and whether all that the teacher took in still stands there.
struct Since {
  bool is_current = true;
  std::vector<store::AnswerRow> labelled;
};

// A label that the teacher does not know. False: what was read of it is not what the mark says, as when it was changed
// in between.
Result<bool> take_mark(const LearningFrom& from, const Question& question, const store::LabelMark& mark,
                       KeptTeacher& teacher, Since& since) {
  const Result<std::vector<store::AnswerRow>> rows =
      from.rows.store.answers({.fingerprint = mark.fingerprint}, mark.answer - 1, 1);
  if (!rows.ok()) return rows.error();
  if (rows->empty() || rows->front().place != mark.answer) return false;
  const store::AnswerRow& row = rows->front();
  if (!row.answer.label || row.answer.label->option != mark.option) return false;
  if (!teacher.questions.contains(mark.fingerprint)) {
    // The same options in another order are the same question to a lesson, and another to the store.
    if (stored_fingerprint(question, row.answer.options) != mark.fingerprint) {
      teacher.other_questions.insert(mark.fingerprint);
      return true;
    }
    teacher.questions.insert(mark.fingerprint);
  }
  since.labelled.push_back(row);
  return true;
}

Result<Since> labels_since(const LearningFrom& from, const Question& question, KeptTeacher& teacher) {
  Since since;
  std::size_t seen = 0;
  const auto take = [&](const store::LabelMark& mark) -> Result<bool> {
    if (teacher.other_questions.contains(mark.fingerprint)) return true;
    const auto known = teacher.labels.find(mark.answer);
    if (known == teacher.labels.end()) {
      const Result<bool> taken = take_mark(from, question, mark, teacher, since);
      if (taken.ok()) since.is_current = *taken;
      return taken;
    }
    seen++;
    since.is_current = known->second == mark.option;
    return since.is_current;
  };
  if (Status read = each_mark(from.rows.store, take); !read.ok()) return read.error();
  since.is_current = since.is_current && seen == teacher.labels.size();  // else one was forgotten
  return since;
}

}  // namespace

Status check_adding(const Lesson& lesson, bool without_thresholds) {
  const std::string whole = R"( ("method": "update" fits it anew)";
  if (!lesson.head)
    return invalid_argument("method", "Labels are added to a head, and " + version_text(lesson) +
                                          R"( has none ("method": "calibrate" fits it anew).)");
  if (lesson.head->method != "lda")
    return invalid_argument("method", "Labels are added to heads of lda alone, and that of " + version_text(lesson) +
                                          " is a " + lesson.head->method + whole +
                                          R"(; "lda" makes one that they can be added to).)");
  if (!(lesson.head->lambda > 0))
    return invalid_argument("method", "The file of " + version_text(lesson) +
                                          " does not say how a label is added to its head: it has no lambda" + whole +
                                          ").");
  if (!lesson.thresholds.empty() && !without_thresholds)
    return invalid_argument("without_thresholds",
                            "The thresholds of " + version_text(lesson) +
                                " are vouched for by a whole fit, and a version with labels added has none" + whole +
                                R"(; "without_thresholds": true does without them).)");
  return {};
}

bool whole_fit_is_due(const Lesson& lesson, std::size_t labels) {
  const std::size_t fitted = lesson.growth ? lesson.growth->labels : lesson.labels;
  return labels > fitted && 4 * (labels - fitted) >= fitted;
}

Result<std::unique_ptr<KeptTeacher>> open_teacher(const LearningFrom& from, const Lesson& lesson, FitRows& counts) {
  const Question question = question_of(*lesson.question);
  auto out = std::make_unique<KeptTeacher>();
  out->before = *lesson.head;
  out->before.weights.clear();
  out->before.bias.clear();
  out->question = *lesson.question;
  out->rows_by_option.assign(question.options.size(), 0);
  // Marks before rows: a label that comes in between is new the next time, and its row is known then.
  std::vector<store::LabelMark> marks;
  const Status marked = each_mark(from.rows.store, [&](const store::LabelMark& mark) -> Result<bool> {
    marks.push_back(mark);
    return true;
  });
  if (!marked.ok()) return marked.error();
  out->rows_file = file_mark(from.rows.rows_path);
  const Result<LabelledRows> rows = labelled_rows(from.rows, question, lesson.head->cues, from.kept);
  if (!rows.ok()) return rows.error();
  out->left_out = rows->left_out;
  out->questions = rows->questions;
  for (const store::LabelMark& mark : marks) {
    if (out->questions.contains(mark.fingerprint)) out->labels.emplace(mark.answer, mark.option);
  }
  for (const LabelledQuestion& row : rows->rows) note_row(row, *out);
  if (rows->rows.size() >= lesson.labels && whole_fit_is_due(lesson, rows->rows.size()))
    return std::unique_ptr<KeptTeacher>();

  const std::vector<Value> words = states_of_words(question);
  std::vector<CueReading> readings;
  for (const LabelledQuestion& row : rows->rows) readings.push_back(reading_of(row));
  for (std::size_t i = 0; i < words.size(); i++)
    readings.push_back({.state = &words[i], .where = "the words of option \"" + question.options[i].id + "\""});
  const Result<ReadCueStates> states = read_states(from, lesson, readings, counts);
  if (!states.ok()) return states.error();
  if (from.keeps_states) from.kept.end();
  std::vector<teach::TeachingRow> taught;
  for (std::size_t i = 0; i < states->states.size(); i++) {
    const bool is_words = i >= rows->rows.size();
    taught.push_back(teaching_row(is_words ? i - rows->rows.size() : rows->rows[i].expected, states->states[i]));
  }
  Result<std::unique_ptr<teach::LdaTeacher>> opened = teach::LdaTeacher::open_like(taught, {0}, *lesson.head);
  if (!opened.ok() && opened.error().field == "rows") return std::unique_ptr<KeptTeacher>();  // no spread is left
  if (!opened.ok()) return opened.error();
  out->teacher = std::move(opened).value();
  return out;
}

Result<bool> take_new_labels(const LearningFrom& from, const Lesson& lesson, KeptTeacher& teacher, FitRows& counts) {
  if (!(file_mark(from.rows.rows_path) == teacher.rows_file)) return false;
  const Question question = question_of(*lesson.question);
  const Result<Since> since = labels_since(from, question, teacher);
  if (!since.ok()) return since.error();
  if (!since->is_current) return false;
  std::vector<LabelledQuestion> rows;
  for (const store::AnswerRow& answer : since->labelled) {
    teacher.labels.emplace(answer.place, answer.answer.label->option);
    std::optional<LabelledQuestion> row = row_of(answer, question, lesson.head->cues, from.kept, from.rows.parse_json);
    if (!row) {
      teacher.left_out++;
      continue;
    }
    const auto known = teacher.rows.find(row->state_sha256);
    if (known != teacher.rows.end() && known->second != row->expected) return false;  // the later word counts
    if (known != teacher.rows.end()) continue;
    note_row(*row, teacher);
    rows.push_back(std::move(*row));
  }
  if (!rows.empty()) teacher.written.clear();
  std::vector<CueReading> readings;
  for (const LabelledQuestion& row : rows) readings.push_back(reading_of(row));
  const Result<ReadCueStates> states = read_states(from, lesson, readings, counts);
  if (!states.ok()) return states.error();
  for (std::size_t i = 0; i < rows.size(); i++) {
    const Status added = teacher.teacher->add(teaching_row(rows[i].expected, states->states[i]));
    if (!added.ok()) return Error{added.error().code, rows[i].where + ": " + added.error().message, "rows"};
  }
  return true;
}

Lesson grown_lesson(const ShelvedLesson& active, const KeptTeacher& teacher, std::string created) {
  Lesson out = active.lesson;
  LinearHead head = teacher.teacher->head();
  teach::sharpen(head, active.lesson.head->sharpness);
  head.cues = active.lesson.head->cues;
  head.prior_weight = active.lesson.head->prior_weight;
  out.head = std::move(head);
  out.created = std::move(created);
  out.thresholds.clear();
  if (!out.growth) out.growth = Growth{.calibrated_at_version = active.lesson.version, .labels = active.lesson.labels};
  out.labels = teacher.rows.size();
  out.labels_by_option.clear();
  for (std::size_t i = 0; i < teacher.rows_by_option.size(); i++)
    out.labels_by_option.emplace_back(out.question->options[i].first, teacher.rows_by_option[i]);
  return out;
}

}  // namespace assay::service
