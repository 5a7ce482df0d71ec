#pragma once
// What was learnt from labelled answers: a calibration, a head on hidden states, thresholds. A lesson is a value, kept
// as one file (docs/lessons.md); it belongs to one model file and, when it has a head or thresholds by option, to one
// question.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/error.h"

namespace assay {

// Probabilities out of scores: softmax(score / temperature); then the highest probability is moved to how often answers
// with so much evidence are right (slope, shift); and then, where there were labels enough, by the isotonic map. The
// others share what is left. It holds for questions of one kind; teach/apply.h has the formulas.
struct Calibration {
  std::string readout;          // "letters", "text", "taught"
  std::string type;             // "choice", "yes_no", "scale"
  std::size_t options_min = 2;  // of the bucket of option counts, both included
  std::size_t options_max = 2;
  double temperature = 1;  // finite, above 0
  double slope = 1;        // of the evidence, finite, at least 0
  double shift = 0;        // finite; slope 1 and shift 0 move nothing
  // A non-decreasing map of [0, 1] into [0, 1]: knots with rising x; linear between, constant outside. Empty: none.
  std::vector<std::pair<double, double>> isotonic;
  std::size_t rows = 0;  // it was fitted on
  // Out of fold, before and after.
  double ece_before = 0, ece_after = 0;
  double brier_before = 0, brier_after = 0;
  double log_loss_before = 0, log_loss_after = 0;
};

// Act where the confidence (the highest probability, calibrated) is at least `value`. With probability `level` over
// the labels, no more than `risk` of the answers acted on are wrong in the long run; with a horizon, with probability
// `level` over the labels and the next `horizon` answers acted on, no more than `risk` of these are.
struct Threshold {
  std::string option;            // the answer that it is for; empty: any
  double risk = 0.05;            // in (0, 1)
  double level = 0.9;            // in (0, 1)
  std::size_t horizon = 0;       // 0: the long run
  std::optional<double> value;   // absent: no threshold can be vouched for yet, so nothing is acted on
  double coverage = 0;           // the share of the labelled answers that it would act on
  double error = 0;              // the share of those that are wrong
  std::size_t rows = 0;          // labelled answers that it was found with
  std::size_t rows_missing = 0;  // about how many more are needed where `value` is absent; 0: more would not help
};

// A linear head: score_k = bias_k + sum_d weights[k * width + d] * z_d, with z_d = (x_d - mean_d) * scale_d and x the
// cues' hidden states one behind another; where `normalised`, z is divided by its root mean square before (and left as
// it is where that is 0). Then log-softmax, and where prior_weight is not 0, plus prior_weight times the log of the
// zero-shot probability. Options without labels have the zero-shot probability alone (teach/apply.h has the formulas).
struct LinearHead {
  std::string method;                // "lda" or "ridge"
  double regularisation = 0;         // shrinkage of lda; lambda / width of ridge
  std::vector<std::string> cues;     // texts with "{state}" in them (and maybe "{question}")
  std::size_t width = 0;             // numbers in x
  std::vector<float> mean, scale;    // width numbers each
  bool normalised = false;           // whether only the direction of z counts
  std::vector<float> weights;        // options with labels * width numbers
  std::vector<float> bias;           // one for each option with labels
  std::vector<std::size_t> options;  // which option each row of weights is for, rising
  double prior_weight = 0;           // of the zero-shot readout, in [0, 1]
  // What a head that takes one label more is made with. `lambda`: what lda's scatter was made larger by; 0: not known,
  // or another method. `sharpness`: what the weights and biases were multiplied by behind the fit.
  double lambda = 0;
  double sharpness = 1;
};

// The question that a lesson is for.
struct LessonQuestion {
  std::string text;
  std::string type;                                                         // "choice", "yes_no", "scale"
  std::vector<std::pair<std::string, std::optional<std::string>>> options;  // id, description
};

// Of a version whose head took labels in without a whole fit: what of it is older than it is. Its calibrations,
// accuracy and mean confidence are those of that version; thresholds it has none.
struct Growth {
  std::int32_t calibrated_at_version = 0;  // the version of the last whole fit, as the server that made it counted
  std::size_t labels = 0;                  // that version was learnt from
};

struct Lesson {
  std::string name;          // 1..64 of a-z, 0-9, '-', '_', beginning with a letter or digit
  std::int32_t version = 1;  // 1 is the first
  std::string created;       // "2026-11-30T12:00:00Z"
  std::string model_id;
  std::string model_sha256;                // of the model file that it was learnt with
  std::string layout;                      // "state_first" or "question_first"
  std::optional<LessonQuestion> question;  // absent: a calibration for any question of its kind
  std::vector<Calibration> calibrations;
  std::optional<LinearHead> head;
  std::vector<Threshold> thresholds;
  std::optional<std::string> fallback;  // the option to answer with where a decision escalates
  std::size_t labels = 0;               // it was learnt from
  std::vector<std::pair<std::string, std::size_t>> labels_by_option;
  double accuracy_zero_shot = -1, accuracy = -1;  // out of fold; -1: not measured
  double mean_confidence = -1;                    // of the labelled answers, out of fold; what drift is measured by
  std::string note;
  std::optional<Growth> growth = {};  // absent: everything in it was fitted together
};

// Which lesson an answer was made with.
struct LessonUse {
  std::string name;
  std::int32_t version = 0;
  std::string sha256;   // of the lesson's file
  bool taught = false;  // its head answered; else it calibrated alone
};

// What a threshold says to an answer.
enum class Action { kNone, kAct, kEscalate };  // kNone: no lesson with a threshold
const char* action_name(Action action);        // "none", "act", "escalate"

// What a lesson did to an answer.
struct LessonEffect {
  std::optional<LessonUse> used;
  std::string note;  // why a lesson that could have been meant was not used; empty: nothing to say
  Action action = Action::kNone;
  std::optional<double> threshold;      // that the confidence was held against
  std::optional<double> risk;           // the threshold's
  std::optional<std::string> fallback;  // an option's id, where the action is kEscalate and the lesson has one
};

// A lesson's file: JSON that people can read, the head's numbers in base64. lesson_text(lesson_from_text(t)) has the
// same lesson. Errors of reading: kInvalidArgument, with the member as field and what is wrong with it: not JSON, a
// member that is missing, unknown or of another type, a number that is not finite or out of its range, sizes that do
// not fit each other, numbers that do not have their hash (damage), another format.
std::string lesson_text(const Lesson& lesson);
Result<Lesson> lesson_from_text(const std::string& text);
bool is_lesson_name(std::string_view name);

// Which lesson is meant: "refunds" is the version that is active, "refunds@3" that version.
struct LessonReference {
  std::string name;
  std::optional<std::int32_t> version = {};
};
std::optional<LessonReference> lesson_reference(std::string_view text);

// Writes the lesson into a folder of lessons (made where it is missing) as the next version of its name, whole or not
// at all: where it lies and which version it is. Other processes may write there meanwhile; no version is lost. The
// next server that reads the folder uses it, and one that runs as soon as it is asked for its lessons or changes one.
// Errors: kIo; kInvalidArgument where the folder's lesson of that name is another model's.
struct SavedLesson {
  std::string path;
  std::int32_t version = 1;
};
Result<SavedLesson> save_lesson(const std::string& folder, const Lesson& lesson);
// Where a folder keeps a lesson's labelled rows, if it does: a line of {"state": …, "expected": id} for each.
std::string lesson_rows_path(const std::string& folder, const std::string& name);
// Writes these lines there, whole or not at all, in the place of those of before. Errors: kIo.
Status save_lesson_rows(const std::string& folder, const std::string& name, const std::string& rows);

}  // namespace assay
