// LessonOffice::fit(): from what people said of decisions to the next version.
#include <chrono>
#include <ctime>
#include <utility>

#include "service/kept_states.h"
#include "service/label_adding.h"
#include "service/lesson_choice.h"
#include "service/lesson_office.h"
#include "service/lesson_rows.h"
#include "service/lesson_views.h"

namespace assay::service {
namespace {

std::string time_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc));
}

Value count_value(std::size_t count) { return Value(Value::Integer{std::to_string(count)}); }

// What the active version promises; one that labels were added to, what the version promised whose fit it grew from.
const std::vector<Threshold>& promised(const LessonVersions& known) {
  const Lesson& active = known.active_lesson()->lesson;
  if (!active.growth) return active.thresholds;
  const auto fitted = known.versions.find(active.growth->calibrated_at_version);
  const bool is_it = fitted != known.versions.end() && fitted->second->lesson.head && active.head &&
                     same_fit(*fitted->second->lesson.head, *active.head);
  return is_it ? fitted->second->lesson.thresholds : active.thresholds;
}

// What the fit is to promise: what is asked for, else what was promised before.
LearnOptions learn_options(const LessonVersions& known, const FitOptions& options) {
  const Lesson& lesson = known.active_lesson()->lesson;
  const std::vector<Threshold>& thresholds = promised(known);
  LearnOptions learn{.name = lesson.name,
                     .created = time_text(),
                     .risk = options.risk,
                     .level = options.level,
                     .fallback = lesson.fallback,
                     .layout = layout_from_name(lesson.layout).value_or(Layout::kAuto)};
  if (!learn.risk && !thresholds.empty()) {
    learn.risk = thresholds.front().risk;
    learn.risk_by_option = !thresholds.front().option.empty();
    learn.risk_horizon = thresholds.front().horizon;
    if (!learn.risk_by_option) learn.level = thresholds.front().level;
  }
  return learn;
}

// How the head is looked for. Without all texts what was kept is all that there is: the hidden states behind the active
// version's cues.
TeachOptions teach_options(const LessonVersions& known, const FitOptions& options, bool has_all_texts) {
  const Lesson& lesson = known.active_lesson()->lesson;
  TeachOptions teach{
      .learn = learn_options(known, options), .method = options.method, .zero_shot_rows = 0, .learning_curve = false};
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

LearningFrom LessonOffice::learning_from(KeptStates& kept, const std::string& rows_path) {
  return {.rows = {.rows_path = rows_path, .store = *store_, .parse_json = options_.parse_json},
          .decider = decider_.inner(),
          .kept = kept,
          .keeps_states = keeps_states_};
}

Result<Lesson> LessonOffice::learn(const LessonVersions& known, const FitOptions& options, FitRows& counts) {
  const Lesson& lesson = known.active_lesson()->lesson;
  const bool is_headless = options.method == "calibrate" || (options.method == "auto" && !lesson.head);
  if (options.method == "update" && !lesson.head)
    return invalid_argument("method", "Lesson \"" + lesson.name + "\" has no head that could be updated.");
  const std::vector<std::string> cues = lesson.head && !is_headless ? lesson.head->cues : std::vector<std::string>();
  KeptStates kept(*store_, bits_, lesson.name);
  const std::string rows_path = lesson_rows_path(book_->folder(), lesson.name);
  const Result<LabelledRows> rows =
      labelled_rows(learning_from(kept, rows_path).rows, question_of(*lesson.question), cues, kept);
  if (!rows.ok()) return rows.error();
  if (rows->rows.size() < lesson.labels) return too_few(lesson, rows->rows.size());
  counts.left_out = rows->left_out;
  if (is_headless) {
    Result<LearnReport> report = learn_calibration(decider_.inner(), rows->rows, learn_options(known, options));
    if (!report.ok()) return report.error();
    return std::move(report->lesson);
  }
  TeachOptions teach = teach_options(known, options, rows->without_text == 0);
  if (keeps_states_) teach.hidden_states = &kept;
  Result<TeachReport> report = learn_lesson(decider_.inner(), question_of(*lesson.question), rows->rows, teach);
  if (!report.ok()) return report.error();
  if (keeps_states_) kept.end();
  counts.read = report->states_read;
  counts.kept = report->states_kept;
  return std::move(report->learn.lesson);
}

Value LessonOffice::fit_view(const ShelvedLesson& lesson, const char* method, const FitRows& rows) {
  states_read_ += rows.read;
  states_kept_ += rows.kept;
  Value::Object view = *version_view(lesson).object();
  view.emplace_back("method", Value(method));
  view.emplace_back("rows_read", count_value(rows.read));
  view.emplace_back("rows_kept", count_value(rows.kept));
  view.emplace_back("rows_left_out", count_value(rows.left_out));
  return Value(std::move(view));
}

Result<Value> LessonOffice::fit_whole(const LessonVersions& known, const FitOptions& options) {
  FitRows rows;
  Result<Lesson> learnt = learn(known, options, rows);
  if (!learnt.ok()) return learnt.error();
  const Result<SharedLesson> added = book_->add(std::move(learnt).value(), options.shadow);
  if (!added.ok()) return added.error();
  return fit_view(**added, options.method.c_str(), rows);
}

Result<std::optional<Value>> LessonOffice::add_labels(const LessonVersions& known, const FitOptions& options) {
  const ShelvedLesson& active = *known.active_lesson();
  const Lesson& lesson = active.lesson;
  KeptStates kept(*store_, bits_, lesson.name);
  const std::string rows_path = lesson_rows_path(book_->folder(), lesson.name);
  const LearningFrom from = learning_from(kept, rows_path);
  FitRows rows;
  // 1. The teacher that was kept, brought up to what is labelled now; else one of all rows.
  std::unique_ptr<KeptTeacher> teacher = teachers_.take(lesson.name);
  if (teacher && teacher->continues(lesson)) {
    const Result<bool> taken = take_new_labels(from, lesson, *teacher, rows);
    if (!taken.ok()) return taken.error();
    if (!*taken) teacher.reset();
  } else {
    teacher.reset();
  }
  if (!teacher) {
    Result<std::unique_ptr<KeptTeacher>> opened = open_teacher(from, lesson, rows);
    if (!opened.ok()) return opened.error();
    teacher = std::move(opened).value();
  }
  if (!teacher) return std::optional<Value>();
  const std::size_t labels = teacher->rows.size();
  if (labels < lesson.labels) return too_few(lesson, labels);
  if (whole_fit_is_due(lesson, labels)) return std::optional<Value>();
  rows.left_out = teacher->left_out;
  // 2. The version, unless it is there.
  const SharedLesson last = options.shadow && known.shadow ? known.versions.at(*known.shadow) : known.active_lesson();
  SharedLesson made = last;
  if (teacher->written != last->sha256) {
    const Result<SharedLesson> added = book_->add(grown_lesson(active, *teacher, time_text()), options.shadow);
    if (!added.ok()) return added.error();
    made = *added;
    teacher->written = made->sha256;
  }
  teachers_.put(lesson.name, std::move(teacher));
  Value::Object view = *fit_view(*made, "add", rows).object();
  view.emplace_back("rows_added", count_value(labels - lesson.labels));
  return std::optional<Value>(Value(std::move(view)));
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
  FitOptions whole = options;
  if (options.method == "add") {
    if (options.risk)
      return invalid_argument("risk", "A risk is vouched for by a whole fit; ask for it with \"method\": \"update\".");
    if (Status can = check_adding(active, options.without_thresholds); !can.ok()) return can.error();
    Result<std::optional<Value>> added = add_labels(*known, options);
    if (!added.ok()) return added.error();
    if (added->has_value()) return std::move(**added);
    whole.method = "update";
  }
  static_cast<void>(teachers_.take(name));  // what it continues is no longer the last whole fit
  return fit_whole(*known, whole);
}

}  // namespace assay::service
