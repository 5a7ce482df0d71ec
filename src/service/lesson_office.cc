#include "service/lesson_office.h"

#include <chrono>
#include <filesystem>
#include <random>
#include <utility>

#include "base/log.h"
#include "base/sha256.h"
#include "service/lesson_views.h"
#include "store/decision_line.h"

namespace assay::service {
namespace {

std::int64_t unix_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// 128 random bits in hex: nobody guesses another's decision.
std::string new_decision_id() {
  thread_local std::random_device source;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string id = "d-";
  for (int word = 0; word < 4; word++) {
    std::uint32_t bits = source();
    for (int digit = 0; digit < 8; digit++, bits >>= 4) id += kDigits[bits & 15];
  }
  return id;
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
      watch_(options_.false_alarm_rate),
      decider_(std::move(inner), *book_, [this](const DecidedRequest& decided) { watch(decided); }),
      shadows_(decider_, [this](const ShelvedLesson& shadow, bool same) { watch_.compare(shadow, same); }) {}

void LessonOffice::watch(const DecidedRequest& decided) {
  const std::shared_ptr<const LessonShelf> shelf = book_->shelf();
  for (std::size_t i = 0; i < decided.picks.size(); i++) {
    const Answer& answer = decided.reply.answers[i];
    if (!answer.lesson.used) continue;
    watch_.count(*decided.picks[i].lesson, answer);
    const auto known = shelf->lessons.find(answer.lesson.used->name);
    if (known == shelf->lessons.end() || !known->second.shadow) continue;
    LessonPick shadow = pick_version(known->second.versions.at(*known->second.shadow), decided.request.questions[i]);
    if (!shadow.lesson || !shadow.lesson->problem.empty()) continue;
    shadows_.add({.request = {.state = decided.request.state,
                              .questions = {decided.request.questions[i]},
                              .readout = decided.request.readout,
                              .layout = decided.request.layout,
                              .priority = Priority::kBulk},
                  .shadow = std::move(shadow),
                  .answered = answer.options[answer.best].id});
  }
  if (!store_) return;
  const std::string id = new_decision_id();
  store::DecisionRecord record = store::record_of(decided.request, decided.reply);
  record.id = id;
  record.time_ms = unix_ms();
  if (store_->record(std::move(record))) decided.reply.decision_id = id;
}

void LessonOffice::drain(double grace_ms) {
  shadows_.stop();
  decider_.drain(grace_ms);
  if (store_) store_->close();
}

Result<LessonVersions> LessonOffice::find(const std::string& name) const {
  const std::shared_ptr<const LessonShelf> shelf = book_->shelf();
  const auto found = shelf->lessons.find(name);
  if (found == shelf->lessons.end()) return Error{ErrorCode::kNotFound, "There is no lesson \"" + name + "\".", "name"};
  return found->second;
}

Value LessonOffice::list() const { return shelf_view(*book_->shelf()); }

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

Result<Value> LessonOffice::promote(const std::string& name, bool force) {
  const Result<LessonVersions> lesson = find(name);
  if (!lesson.ok()) return lesson.error();
  if (!lesson->shadow) return no_shadow(name);
  const WatchCounts counts = watch_.counts(*lesson->versions.at(*lesson->shadow));
  const bool enough = counts.compared >= options_.shadow_agreement_rows;
  const bool agrees =
      static_cast<double>(counts.agreed) >= options_.shadow_agreement * static_cast<double>(counts.compared);
  if (!force && !(enough && agrees))
    return invalid_argument("name", "Version " + std::to_string(*lesson->shadow) + " of lesson \"" + name +
                                        "\" agreed in " + std::to_string(counts.agreed) + " of " +
                                        std::to_string(counts.compared) + " answers; the rule is " +
                                        std::to_string(static_cast<int>(options_.shadow_agreement * 100)) +
                                        " % of at least " + std::to_string(options_.shadow_agreement_rows) +
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
  return health_view(*lesson, watch_);
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
                                 ? (std::filesystem::path(options.folder) / "decisions.sqlite").string()
                                 : options.decisions_path;
    store::StoreOptions settings;
    if (options.keep == LessonOptions::Keep::kTexts) settings.writer.keep = store::Keep::kTexts;
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
