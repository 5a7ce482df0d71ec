#pragma once
// From labelled rows to lessons (docs/lessons.md): learn_calibration() for the readout as it is, learn_lesson() for a
// head on hidden states. Both ask the decider, compute, and give a lesson with what it was found to be worth; neither
// writes a file.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/decider.h"
#include "assay/evaluation.h"
#include "assay/lesson.h"

namespace assay {

// Called now and then with what is being done and how far it is ("reading", 120, 770); true: stop.
using TeachProgress = std::function<bool(const char* step, std::size_t done, std::size_t all)>;

// What both have in common.
struct LearnOptions {
  std::string name;              // the lesson's
  std::string created;           // the lesson's, "2026-11-30T12:00:00Z"
  std::optional<double> risk;    // in (0, 1): find a threshold for it
  bool risk_by_option = false;   // one for each option instead of one for all
  double level = 0.9;            // in (0, 1): with which confidence the risk is held
  std::size_t risk_horizon = 0;  // 0: in the long run; N, at most a million: among the next N answers acted on
  std::optional<std::string> fallback;
  std::uint64_t seed = 1;  // of the folds
  Readout readout = Readout::kAuto;
  Layout layout = Layout::kAuto;
  std::size_t requests_at_once = 16;
  TeachProgress progress;  // may be empty
};

struct LabelledQuestion {
  Value state;
  Question question;
  std::size_t expected = 0;  // index into question.options
  std::string where;         // for messages: "'a.jsonl', row 12"
  // Of a kept decision: its id, and SHA-256 of its state's JSON text. Where that text is not kept `state` is null, and
  // hidden states that were kept must do.
  std::string decision_id = {};
  std::string state_sha256 = {};
};

// Hidden states that were read before, so that they need not be computed again. Those of one state are named by
// everything that their bits depend on: the model, build and settings behind the object, the question's text, the cues
// that were read together, and the state. Thread-safe.
class HiddenStates {
 public:
  using OfCues = std::vector<std::vector<float>>;  // hidden_size finite numbers for each cue
  struct Read {
    std::string state_sha256;  // of the state's JSON text
    std::string
        decision_id;  // whose state it is, and with which it goes; empty: a labelled row's, or an option's words
    OfCues states;
  };
  virtual ~HiddenStates() = default;
  // Nothing: they are not there, or cannot be read.
  virtual std::optional<OfCues> find(const Question& question, const std::vector<std::string>& cues,
                                     const std::string& state_sha256) const = 0;
  // What cannot be kept is read again another time; that is no error.
  virtual void keep(const Question& question, const std::vector<std::string>& cues, const std::vector<Read>& list) = 0;
};

// What a lesson is worth, measured on rows that it was not fitted on.
struct LearnReport {
  Lesson lesson;
  std::vector<Outcome> before, after;  // by row: as the model has it, and with the lesson (out of fold)
  double log_loss_before = 0, log_loss_after = 0;
  CalibrationFloor floor;          // what chance alone makes of the calibration error of `after`, were it perfect
  std::vector<std::string> notes;  // what the reader should know
  double asking_seconds = 0, fitting_seconds = 0;
};

// A calibration for each kind of question in the rows; for one question alone where all rows have the same. Errors:
// kInvalidArgument (no rows; a row that is no request, named by its `where`; one state with two labels), kCancelled
// (stopped), the decider's.
Result<LearnReport> learn_calibration(Decider& decider, const std::vector<LabelledQuestion>& rows,
                                      const LearnOptions& options);

struct TeachOptions {
  LearnOptions learn;
  std::string method = "auto";  // "auto", "lda", "ridge"
  std::optional<double> regularisation =
      {};                         // LinearHead::regularisation; absent: several are tried. REQUIRES a method
  std::vector<std::string> cues;  // empty: the built-in ones; the best one or two are chosen
  bool all_cues = false;          // the head is on all of them joined; nothing is chosen
  std::size_t zero_shot_rows =
      200;  // so many rows are asked without a lesson, for comparison and to choose the prior by; 0: no prior
  bool learning_curve = true;
  HiddenStates* hidden_states = nullptr;  // looked into before a state is read; outlives the call
};

struct CurvePoint {
  double labels_by_option = 0;  // mean
  double accuracy = 0;
  double spread = 0;  // standard deviation over draws
};

// A head that was tried.
struct TriedHead {
  std::string method;
  double regularisation = 0;
  std::vector<std::string> cues;
  double log_loss = 0;  // of rows left out; the smallest wins
  double accuracy = 0;  // of the same
};

// A weight that the zero-shot readout could have as the head's prior, tried on rows left out of the head.
struct TriedPrior {
  double weight = 0;
  double log_loss = 0;
  double accuracy = 0;
  double change = 0, change_error = 0;  // of the log-loss from weight 0, and its standard error
};

struct TeachReport {
  LearnReport learn;              // before: the zero-shot rows alone, and `after` the same rows
  std::vector<CurvePoint> curve;  // by labels an option
  std::optional<double> accuracy_with_50_more, accuracy_with_50_more_low, accuracy_with_50_more_high;
  // Hidden states of how many labelled rows and options' words were computed, and of how many they were kept.
  std::size_t states_read = 0, states_kept = 0;
  std::vector<TriedHead> tried;    // the best first
  std::vector<TriedPrior> priors;  // weight 0 first; empty: no row could be asked without the lesson
  std::size_t prior_rows = 0;      // that they were tried on
  double words_accuracy = -1;      // with the options' words alone, no labels; -1: not measured
};

// A head for one question. Every option stands in the training set once with its own words as the state, so options
// without labels can be answered, too. Errors as of learn_calibration(), and kInvalidArgument for fewer than two
// labelled options, or a row whose state is known by its hash alone and whose hidden states are not kept.
Result<TeachReport> learn_lesson(Decider& decider, const Question& question, const std::vector<LabelledQuestion>& rows,
                                 const TeachOptions& options);

}  // namespace assay
