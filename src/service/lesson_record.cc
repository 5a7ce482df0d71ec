// LessonOffice: what is counted and kept of an answer.
#include <chrono>
#include <random>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/sha256.h"
#include "service/kept_states.h"
#include "service/lesson_office.h"
#include "store/doubles.h"

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

std::string note_key(const ShelvedLesson& lesson) { return "watch/" + lesson.sha256; }

}  // namespace

void LessonOffice::watch(const DecidedRequest& decided) {
  if (!store_) {
    count(decided);
    add_shadow_tasks(decided, "");
    return;
  }
  const std::string id = new_decision_id();
  store::DecisionRecord record = store::record_of(decided.request, decided.reply);
  record.id = id;
  record.time_ms = unix_ms();
  add_head_inputs(decided, record);
  bool is_kept = false;
  {
    const std::lock_guard<std::mutex> lock(recording_);
    count(decided);
    add_notes(decided, record);
    is_kept = store_->record(std::move(record));
  }
  if (is_kept) decided.reply.decision_id = id;
  add_shadow_tasks(decided, is_kept ? id : "");
}

void LessonOffice::count(const DecidedRequest& decided) {
  for (std::size_t i = 0; i < decided.picks.size(); i++) {
    const Answer& answer = decided.reply.answers[i];
    if (answer.lesson.used) watch_.count(*decided.picks[i].lesson, answer);
  }
}

// What heads answered from: hidden states, for fits to come, and what the readout gave, where it was asked.
void LessonOffice::add_head_inputs(const DecidedRequest& decided, store::DecisionRecord& record) const {
  std::string state_sha256;
  for (std::size_t i = 0; i < decided.inputs.size(); i++) {
    const HeadInput& input = decided.inputs[i];
    record.answers[i].zero_shot_scores = input.zero_shot_scores;
    if (!keeps_states_ || !input.read_alone) continue;
    if (state_sha256.empty()) state_sha256 = sha256_hex(record.state);
    record.answers[i].bytes.push_back(kept_decision_states(bits_, decided.request.questions[i].text,
                                                           decided.picks[i].lesson->lesson.head->cues, state_sha256,
                                                           input.states));
  }
}

// The counts go into the file with the answers that they count, so they are there again after a restart.
void LessonOffice::add_notes(const DecidedRequest& decided, store::DecisionRecord& record) const {
  std::set<std::string> noted;
  for (std::size_t i = 0; i < decided.picks.size(); i++) {
    if (!decided.reply.answers[i].lesson.used) continue;
    const ShelvedLesson& lesson = *decided.picks[i].lesson;
    if (noted.insert(lesson.sha256).second) record.notes.push_back(note_of(lesson));
  }
}

store::StoredBytes LessonOffice::note_of(const ShelvedLesson& lesson) const {
  return {.key = note_key(lesson), .bytes = store::doubles_to_bytes(watch_.numbers(lesson))};
}

void LessonOffice::take_up_counts() {
  const std::shared_ptr<const LessonShelf> shelf = book_->shelf();
  for (const auto& [name, lesson] : shelf->lessons) {
    for (const auto& [version, shelved] : lesson.versions) {
      const Result<std::optional<std::string>> note = store_->note(note_key(*shelved));
      if (!note.ok() || !*note) continue;
      const std::optional<std::vector<double>> numbers = store::doubles_of_bytes(**note);
      if (numbers && watch_.restore(*shelved, *numbers)) continue;
      log_line(LogLevel::kWarn, "the counts of lesson " + name + " version " + std::to_string(version) +
                                    " cannot be read and begin anew");
    }
  }
}

void LessonOffice::add_shadow_tasks(const DecidedRequest& decided, const std::string& decision_id) {
  const std::shared_ptr<const LessonShelf> shelf = book_->shelf();
  for (std::size_t i = 0; i < decided.picks.size(); i++) {
    const Answer& answer = decided.reply.answers[i];
    if (!answer.lesson.used) continue;
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
                  .answered = answer.options[answer.best].id,
                  .decision_id = decision_id,
                  .question = i});
  }
}

// On the shadows' thread, which may wait for the disk.
void LessonOffice::take_shadow_answer(const ShadowTask& task, const Answer& answer) {
  const ShelvedLesson& shadow = *task.shadow.lesson;
  watch_.compare(shadow, answer.options[answer.best].id == task.answered);
  if (task.decision_id.empty()) return;
  store::ShadowAnswer kept{.lesson = shadow.lesson.name,
                           .version = shadow.lesson.version,
                           .best = answer.best,
                           .confidence = answer.confidence,
                           .probabilities = {}};
  for (const OptionAnswer& option : answer.options) kept.probabilities.push_back(option.probability);
  const Status put = store_->put_shadow({.decision_id = task.decision_id, .question = task.question}, kept,
                                        [&] { return note_of(shadow); });
  if (!put.ok()) log_line(LogLevel::kDebug, "an answer of a shadow is not kept: " + put.error().message);
}

}  // namespace assay::service
