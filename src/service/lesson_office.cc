#include "service/lesson_office.h"

#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/sha256.h"
#include "service/lesson_views.h"
#include "store/decision_line.h"

namespace assay::service {
namespace {

// Of labels that are added one by one, in memory.
constexpr std::size_t kTeachersMax = 8;
constexpr std::size_t kTeacherBytesMax = std::size_t{256} << 20;

bool may_keep_states(const LessonOptions& options) {
  using Keep = LessonOptions::Keep;
  return (options.keep == Keep::kStates || options.keep == Keep::kTexts) && options.hidden_states_bytes_max > 0;
}

Error no_decisions() {
  return {ErrorCode::kNotFound, "This server keeps no decisions; --lessons or --decisions makes it keep them.", ""};
}

Error no_folder() {
  return {ErrorCode::kUnavailable, "This server has no folder of lessons; --lessons names one.", ""};
}

Error no_shadow(const std::string& name) {
  return invalid_argument("name", "Lesson \"" + name + "\" has no version in the shadow.");
}

}  // namespace

LessonOffice::LessonOffice(std::unique_ptr<Decider> inner, std::unique_ptr<LessonBook> book,
                           std::unique_ptr<store::DecisionStore> store, LessonOptions options)
    : options_(std::move(options)),
      book_(std::move(book)),
      store_(std::move(store)),
      keeps_states_(store_ && may_keep_states(options_)),
      bits_(book_->model_sha256() + "\n" + inner->report().bits_sha256),
      watch_(options_.false_alarm_rate),
      teachers_(kTeachersMax, kTeacherBytesMax),
      decider_(std::move(inner), *book_, [this](const DecidedRequest& decided) { watch(decided); }),
      shadows_(decider_, [this](const ShadowTask& task, const Answer& answer) { take_shadow_answer(task, answer); }) {
  if (store_) take_up_counts();
}

void LessonOffice::drain(double grace_ms) {
  shadows_.stop();
  decider_.drain(grace_ms);
  if (store_) store_->close();
}

// As the folder has it now, whoever wrote there.
Result<LessonVersions> LessonOffice::find(const std::string& name) const {
  book_->look();
  const std::shared_ptr<const LessonShelf> shelf = book_->shelf();
  const auto found = shelf->lessons.find(name);
  if (found == shelf->lessons.end()) return Error{ErrorCode::kNotFound, "There is no lesson \"" + name + "\".", "name"};
  return found->second;
}

Value LessonOffice::list() const {
  book_->look();
  return shelf_view(*book_->shelf());
}

Result<std::string> LessonOffice::export_lesson(const std::string& name, std::optional<std::int32_t> version) const {
  const Result<LessonVersions> lesson = find(name);
  if (!lesson.ok()) return lesson.error();
  const auto found = lesson->versions.find(version.value_or(lesson->active));
  if (found == lesson->versions.end())
    return Error{ErrorCode::kNotFound, "Lesson \"" + name + "\" has no version " + std::to_string(*version) + ".",
                 "version"};
  return lesson_text(found->second->lesson);
}

Result<Value> LessonOffice::import_lesson(const std::string& text, bool shadow) {
  if (book_->folder().empty()) return no_folder();
  Result<Lesson> lesson = lesson_from_text(text);
  if (!lesson.ok()) return lesson.error();
  const Result<SharedLesson> added = book_->add(std::move(lesson).value(), shadow);
  if (!added.ok()) return added.error();
  return version_view(**added);
}

Result<Value> LessonOffice::activate(const std::string& name, std::int32_t version) {
  if (Status done = book_->activate(name, version); !done.ok()) return done.error();
  const Result<LessonVersions> lesson = find(name);
  if (!lesson.ok()) return lesson.error();
  return lesson_view(*lesson);
}

Result<ShadowStanding> LessonOffice::standing_of(const LessonVersions& lesson) const {
  const ShelvedLesson& shadow = *lesson.versions.at(*lesson.shadow);
  store::ShadowLabels labels;
  if (store_) {
    const Result<store::ShadowLabels> counted =
        store_->shadow_labels(shadow.lesson.name, lesson.active, shadow.lesson.version);
    if (!counted.ok()) return counted.error();
    labels = *counted;
  }
  return shadow_standing(*lesson.shadow, watch_.counts(shadow), labels, options_);
}

Result<Value> LessonOffice::promote(const std::string& name, bool force) {
  const Result<LessonVersions> lesson = find(name);
  if (!lesson.ok()) return lesson.error();
  if (!lesson->shadow) return no_shadow(name);
  const Result<ShadowStanding> standing = standing_of(*lesson);
  if (!standing.ok()) return standing.error();
  if (!force && !standing->met)
    return invalid_argument("name", "Version " + std::to_string(*lesson->shadow) + " of lesson \"" + name +
                                        "\" is not promoted: " + why_not(*standing) +
                                        " (\"force\": true passes it over).");
  return activate(name, *lesson->shadow);
}

Status LessonOffice::drop_shadow(const std::string& name) {
  const Result<LessonVersions> lesson = find(name);
  if (!lesson.ok()) return lesson.error();
  if (!lesson->shadow) return no_shadow(name);
  return book_->set_shadow(name, std::nullopt);
}

Result<Value> LessonOffice::health(const std::string& name) const {
  const Result<LessonVersions> lesson = find(name);
  if (!lesson.ok()) return lesson.error();
  std::optional<ShadowStanding> shadow;
  if (lesson->shadow) {
    const Result<ShadowStanding> standing = standing_of(*lesson);
    if (!standing.ok()) return standing.error();
    shadow = *standing;
  }
  return health_view(*lesson, watch_, shadow);
}

std::vector<Result<FeedbackResult>> LessonOffice::feedback(const std::vector<Feedback>& list) {
  if (store_) return store_->add_feedback(list);
  return std::vector<Result<FeedbackResult>>(list.size(), no_decisions());
}

DeskStats LessonOffice::stats() const {
  DeskStats out;
  if (store_) {
    const store::StoreStats kept = store_->stats();
    out.keeps_decisions = true;
    out.decisions_queued = kept.writer.queued;
    out.decisions_written = kept.writer.written;
    out.decisions_dropped = kept.writer.dropped;
    out.decisions_lost = kept.writer.lost;
    out.decisions_expired = kept.writer.expired;
    out.decisions_forgotten = kept.forgotten;
    out.log_failing = !kept.writer.last_error.empty();
    out.feedback_stored = kept.stored;
    out.feedback_known = kept.known;
    out.feedback_corrected = kept.corrected;
    out.feedback_refused = kept.refused;
    out.keeps_states = keeps_states_;
    out.hidden_states_bytes = kept.writer.state_bytes;
    out.hidden_states_read = states_read_.load();
    out.hidden_states_kept = states_kept_.load();
  }
  const std::shared_ptr<const LessonShelf> shelf = book_->shelf();
  for (const auto& [name, lesson] : shelf->lessons) {
    const ShelvedLesson& active = *lesson.active_lesson();
    if (!active.problem.empty()) continue;
    const WatchCounts counts = watch_.counts(active);
    const WatchCounts shadow = lesson.shadow ? watch_.counts(*lesson.versions.at(*lesson.shadow)) : WatchCounts{};
    out.lessons.push_back(
        {.name = name,
         .version = lesson.active,
         .taught = active.lesson.head.has_value(),
         .answers = counts.answers,
         .acted = counts.acted,
         .escalated = counts.escalated,
         .abstained = counts.abstained,
         .mean_confidence = counts.answers == 0 ? -1 : counts.confidence_sum / static_cast<double>(counts.answers),
         .confidence_then = active.lesson.mean_confidence,
         .drifting = watch_.drift(active).alarm(),
         .shadowed = shadow.compared,
         .shadow_agreed = shadow.agreed});
  }
  return out;
}

Result<std::string> LessonOffice::decision(const std::string& id) const {
  if (!store_) return no_decisions();
  const Result<std::optional<store::DecisionRecord>> found = store_->find(id);
  if (!found.ok()) return found.error();
  if (!*found) return Error{ErrorCode::kNotFound, "There is no decision \"" + id + "\".", "id"};
  return store::decision_line(**found);
}

Status LessonOffice::export_decisions(const ExportQuery& query,
                                      const std::function<bool(std::string_view line)>& write) const {
  return store_ ? store_->export_lines(query, write) : Status(no_decisions());
}

Result<bool> LessonOffice::forget(const std::string& id) {
  if (!store_) return no_decisions();
  return store_->forget(id);
}

}  // namespace assay::service

namespace assay {
namespace {

class Taught final : public TaughtDecider {
 public:
  Taught(std::unique_ptr<Decider> inner, std::unique_ptr<service::LessonBook> book,
         std::unique_ptr<store::DecisionStore> store, const LessonOptions& options)
      : office_(std::move(inner), std::move(book), std::move(store), options) {}

  Result<DecisionReply> decide(const DecisionRequest& request) override { return office_.decider().decide(request); }
  const ModelReport& report() const override { return office_.decider().report(); }
  std::size_t in_flight() const override { return office_.decider().in_flight(); }
  bool healthy() const override { return office_.decider().healthy(); }
  bool full() const override { return office_.decider().full(); }
  EngineStats stats() const override { return office_.decider().stats(); }
  void drain(double grace_ms) override { office_.drain(grace_ms); }
  LessonDesk& desk() override { return office_; }

 private:
  service::LessonOffice office_;
};

}  // namespace

Result<std::unique_ptr<TaughtDecider>> TaughtDecider::open(std::unique_ptr<Decider> inner,
                                                           const LessonOptions& options) {
  const ModelReport& model = inner->report();
  const std::string sha256 = model.sha256.empty() ? sha256_hex_of_file(model.path) : model.sha256;
  Result<std::unique_ptr<service::LessonBook>> book = service::LessonBook::open(options.folder, sha256);
  if (!book.ok()) return book.error();
  for (const std::string& problem : (*book)->shelf()->problems) log_line(LogLevel::kWarn, "lessons: " + problem);
  std::unique_ptr<store::DecisionStore> store;
  if (options.keep != LessonOptions::Keep::kNothing) {
    if (options.folder.empty() && options.decisions_path.empty())
      return invalid_argument("decisions", "Decisions need a file: name one, or a folder of lessons.");
    const std::string path = options.decisions_path.empty()
                                 ? (std::filesystem::path(options.folder) / kDecisionsFile).string()
                                 : options.decisions_path;
    store::StoreOptions settings;
    if (options.keep == LessonOptions::Keep::kTexts) settings.writer.keep = store::Keep::kTexts;
    settings.writer.age_ms_max = options.decisions_age_ms_max;
    settings.writer.states_bytes_max = options.hidden_states_bytes_max;
    Result<std::unique_ptr<store::DecisionStore>> opened = store::DecisionStore::open(path, settings);
    if (opened.ok()) {
      store = std::move(opened).value();
    } else if (options.decisions_path.empty()) {
      // Nobody named the file, and lessons in a folder that cannot be written to, as in an image, answer all the same.
      log_line(LogLevel::kWarn, "decisions are not kept: " + opened.error().message);
    } else {
      return opened.error();
    }
  }
  return std::unique_ptr<TaughtDecider>(
      std::make_unique<Taught>(std::move(inner), std::move(book).value(), std::move(store), options));
}

}  // namespace assay
