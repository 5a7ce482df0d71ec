#pragma once
// What a server does with lessons beside answering: feedback, new versions, roll back, shadows, health.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/decider.h"
#include "assay/error.h"
#include "assay/lesson.h"
#include "assay/value.h"

namespace assay {

// Somebody's word on a decision.
struct Feedback {
  std::string decision_id;
  std::string question_id;  // may be empty where the decision had one question
  std::string option;       // the right one's id
  std::string note;         // at most kNoteBytesMax
  static constexpr std::size_t kNoteBytesMax = 4096;
};

enum class FeedbackResult {
  kStored,     // durable now
  kKnown,      // the same was there already
  kCorrected,  // another option was there; this one replaces it
};

struct FitOptions {
  std::optional<double> risk;  // a threshold for it
  double level = 0.9;
  // "auto", "lda", "ridge", "calibrate" (no head), "update" (the active version's cues, method and regularisation),
  // "add" (labels go into the active version's head, and nothing else is found anew)
  std::string method = "auto";
  bool shadow = false;  // answer beside the active version at first
  // Of "add": a version with thresholds may be followed by one without.
  bool without_thresholds = false;
};

// Which kept decisions, in the order of arrival.
struct ExportQuery {
  std::int64_t after = 0;      // the "place" of the last one that the caller has; 0: from the beginning
  std::size_t limit = 0;       // so many at most; 0: all
  bool labelled_only = false;  // those alone of which somebody has said what was right
};

// What a lesson has done: the version of that file, since it first answered here, over restarts where decisions are
// kept.
struct LessonCounts {
  std::string name;
  std::int32_t version = 0;  // the active one
  bool taught = false;
  std::uint64_t answers = 0;    // made with it
  std::uint64_t acted = 0;      // of those: Action::kAct
  std::uint64_t escalated = 0;  // Action::kEscalate
  std::uint64_t abstained = 0;
  double mean_confidence = -1;      // of the answers in the window that drift is looked for in; -1: none yet
  double confidence_then = -1;      // Lesson::mean_confidence; -1: not measured
  bool drifting = false;            // the sequential test says that the two differ
  std::uint64_t shadowed = 0;       // answers that a shadow answered beside it
  std::uint64_t shadow_agreed = 0;  // of those: with the same option
};

// What a server keeps and has been told, since it started.
struct DeskStats {
  bool keeps_decisions = false;
  std::size_t decisions_queued = 0;  // waiting to be written
  std::uint64_t decisions_written = 0;
  std::uint64_t decisions_dropped = 0;  // found the queue full
  std::uint64_t decisions_lost = 0;     // could not be written
  std::uint64_t decisions_expired = 0;  // removed for their number or age
  std::uint64_t decisions_forgotten = 0;
  bool log_failing = false;  // the last batch could not be written, and waits
  bool keeps_states = false;
  std::uint64_t hidden_states_bytes = 0;  // kept, about
  std::uint64_t hidden_states_read = 0;   // by fits: computed, of so many states
  std::uint64_t hidden_states_kept = 0;   // by fits: they were there
  std::uint64_t feedback_stored = 0;
  std::uint64_t feedback_known = 0;
  std::uint64_t feedback_corrected = 0;
  std::uint64_t feedback_refused = 0;
  std::vector<LessonCounts> lessons;  // those in use
};

// Thread-safe. Names that are no lesson's give kNotFound, with field "name".
class LessonDesk {
 public:
  virtual ~LessonDesk() = default;

  // --- Lessons. Views are JSON objects, ready to be written.
  // {"lessons": [{"name", "version", "versions": [1, 2], "active", "shadow", "taught", "labels", "accuracy",
  // "model_ok", "problem"}, …]}: also those that are not used, with the reason.
  virtual Value list() const = 0;
  // One version (the active one when absent), as it stands in its file.
  virtual Result<std::string> export_lesson(const std::string& name, std::optional<std::int32_t> version) const = 0;
  // A lesson's file; it becomes the next version of its name and active (or the shadow). Errors: kInvalidArgument for a
  // text that is no lesson, another model's, or damaged.
  virtual Result<Value> import_lesson(const std::string& text, bool shadow) = 0;
  // Makes an earlier (or later) version the active one.
  virtual Result<Value> activate(const std::string& name, std::int32_t version) = 0;
  // A new version out of what was stored for the lesson's question, with "rows_read" and "rows_kept": hidden states of
  // how many rows and options' words were computed, and of how many they were there; and "rows_left_out": labelled
  // decisions of which neither the state nor its hidden states are kept; "method" is what was done: an "add" whose
  // labels have grown by a quarter since the last whole fit is an "update", and one that finds nothing new gives the
  // version that is there. "rows_added" of an "add": labels that this version has and the active one had not. Blocks;
  // one fit at a time (kTooBusy). Errors of an "add", beside: kInvalidArgument (field "method", "risk" or
  // "without_thresholds").
  virtual Result<Value> fit(const std::string& name, const FitOptions& options) = 0;
  // The shadow becomes active. kInvalidArgument when the rule for it is not met (unless forced) or there is none.
  virtual Result<Value> promote(const std::string& name, bool force) = 0;
  virtual Status drop_shadow(const std::string& name) = 0;
  // Confidence, abstention and agreement against the labelled rows, with the sequential test's state.
  virtual Result<Value> health(const std::string& name) const = 0;

  // --- What was decided. kNotFound where the server keeps no decisions; the message says which flag keeps them.
  // One result for each, in their order; returns when all that went well is durable. Errors: kNotFound (no such
  // decision), kInvalidArgument (no such question or option), kIo (full disk, damaged file), kUnavailable (another
  // program holds the file's lock), kOverloaded.
  virtual std::vector<Result<FeedbackResult>> feedback(const std::vector<Feedback>& list) = 0;
  // A JSON object in one line, as an export has it.
  virtual Result<std::string> decision(const std::string& id) const = 0;
  // Each kept decision so, without a line's end; ends early, without an error, when `write` says false.
  virtual Status export_decisions(const ExportQuery& query,
                                  const std::function<bool(std::string_view line)>& write) const = 0;
  // Removes the decision, its state and its feedback; false: there was none.
  virtual Result<bool> forget(const std::string& id) = 0;

  // Taken at each scrape of the metrics.
  virtual DeskStats stats() const = 0;
};

const char* feedback_result_name(FeedbackResult result);  // "stored", "known", "corrected"

// The file of decisions in a folder of lessons.
inline constexpr const char* kDecisionsFile = "decisions.sqlite";
// The decisions that a file keeps, or the one in a folder of lessons, as LessonDesk::export_decisions() gives them; a
// server may be writing to it, and nothing in it is changed. Errors: kNotFound (no such file), kIo, kUnavailable,
// kInvalidArgument (another program's file).
Status export_decisions(const std::string& from, const ExportQuery& query,
                        const std::function<bool(std::string_view line)>& write);

// How a server keeps lessons and decisions.
struct LessonOptions {
  enum class Keep { kNothing, kHashes, kStates, kTexts };
  enum class Promotion { kAgreement, kLabels };

  std::string folder;  // of lessons; empty: there are none, and none can come
  // The file of decisions and feedback; empty: "decisions.sqlite" in the folder, and none where that cannot be opened.
  std::string decisions_path;
  // Of decisions. kStates: numbers, hashes and the hidden states that heads answered from, which a fit can learn from;
  // much of a text can be guessed from them. kTexts: what people wrote, too.
  Keep keep = Keep::kHashes;
  std::uint64_t hidden_states_bytes_max = std::uint64_t{1} << 30;  // kept of them; 0: none
  std::int64_t decisions_age_ms_max = 0;                           // older ones go, with their labels; 0: no limit
  // Reads JSON text, for states that were stored; empty: LessonDesk::fit() cannot teach.
  std::function<Result<Value>(const std::string& text)> parse_json = {};
  double false_alarm_rate = 0.01;  // of the test for drift, over a lesson version's whole life
  // A shadow is promoted when it answers as the active version does, or when labels say that it is right more often.
  Promotion promotion = Promotion::kAgreement;
  std::size_t shadow_agreement_rows = 200;  // so many answers were compared,
  double shadow_agreement = 0.9;            // and this share was the same
  // In (0, 1): with which probability a shadow that is right no more often is ever found better (teach/paired.h).
  double promotion_error = 0.05;
};

// A decider with lessons on top of one without, and the desk that keeps them. Thread-safe.
class TaughtDecider : public Decider {
 public:
  virtual LessonDesk& desk() = 0;
  // Errors: kIo (the folder or the file of decisions), kInvalidArgument (decisions without a place).
  static Result<std::unique_ptr<TaughtDecider>> open(std::unique_ptr<Decider> inner, const LessonOptions& options);
};

}  // namespace assay
