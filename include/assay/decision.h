#pragma once
// The nouns of a decision: a state, questions with declared options, and a probability for each option.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/error.h"
#include "assay/image.h"
#include "assay/lesson.h"
#include "assay/value.h"

namespace assay {

// One declared option. The id is opaque: kept byte for byte, never trimmed, folded or normalised.
struct Option {
  std::string id;
  std::optional<std::string> description;  // what the option means; absent: the id speaks for itself
};

// What kind of question it is; it decides the prompt's wording, the calibration bucket and the reliability shown.
enum class QuestionType { kChoice, kYesNo, kScale };
const char* question_type_name(QuestionType type);  // "choice", "yes_no", "scale"

struct Question {
  std::string id;    // echoed, never shown to the model
  std::string text;  // the question itself
  QuestionType type = QuestionType::kChoice;
  std::vector<Option> options;  // in the caller's order, which decides ties
  double min_confidence = 0;    // in [0, 1]; an answer whose confidence is below it abstains; 0: none does
  // The mean over this many orders of the options (turned round by equal steps), which cancels a model's liking for a
  // place in the list. 1..options.size(). Costs as many questions with letters; with text the order has no part in it.
  std::int32_t permute = 1;
  // Texts with "{state}" (and maybe "{question}") in them; the last hidden state of each, told without the chat
  // template, is in Answer::cue_states. Letters and text only.
  std::vector<std::string> cues;
  bool scored = true;  // false: nothing but the cues is computed, and the answer's scores are 0. REQUIRES: cues
  // What the caller calls it where that is no id; kept with the decision, so that feedback can name it. Empty: its id.
  std::string name;
};

// How the probabilities are read (docs/readouts.md).
enum class Readout {
  kAuto,     // the one that the check at load chose
  kLetters,  // options listed under letters, one logit each
  kText,     // log-likelihood of the option's own words, less their prior
  kHead,     // the model's own decision head (llama.cpp's decision code)
  kTaught,   // a lesson's head on hidden states; only in answers, never asked for
};
const char* readout_name(Readout readout);  // "auto", "letters", "text", "head", "taught"
std::optional<Readout> readout_from_name(std::string_view name);

// What the check at load found for a question type: may the probabilities be believed?
enum class Reliability {
  kUnknown,     // no check was made (a decision head, or the check is switched off)
  kReliable,    // beats chance by a clear margin on the built-in check
  kUnreliable,  // does not
};
const char* reliability_name(Reliability reliability);  // "unknown", "reliable", "unreliable"

// In which order a prompt tells the model things. It changes the answer, so it is named, never chosen by what is
// cached.
enum class Layout {
  kAuto,           // the decider's setting
  kStateFirst,     // state, then question: many questions on one state share it
  kQuestionFirst,  // question (with the options that the prompt lists), then state: many states share one question
};
const char* layout_name(Layout layout);  // "auto", "state_first", "question_first"
std::optional<Layout> layout_from_name(std::string_view name);

// Who waits for the answer. It decides the order of work, never an answer.
enum class Priority {
  kInteractive,  // somebody waits
  kBulk,         // nobody does: computed when no interactive request is there, but not for ever last
};
const char* priority_name(Priority priority);  // "interactive", "bulk"
std::optional<Priority> priority_from_name(std::string_view name);

struct Answer;

struct DecisionRequest {
  Value state;                      // string, object or array; shared by all questions
  std::vector<Question> questions;  // one or more
  // Shown before the state, in this order; at most kImagesMax. Only where ModelReport::reads_images.
  std::vector<Image> images = {};
  Readout readout = Readout::kAuto;
  bool explain = false;       // fill the prompt, tokens and per-token log-probabilities
  bool hidden_state = false;  // fill Answer::hidden_state (letters: the decision position; text: the end of the prompt)
  Layout layout = Layout::kAuto;
  bool receipt = false;  // fill DecisionReply::receipt
  // A lesson's name or one of its versions (lesson_reference()); "auto": the one for the question, if any; "none". Only
  // where lessons are kept.
  std::string lesson = "auto";
  bool calibrated = false;  // an answer without a calibration is an error (kInvalidArgument)
  // Letters: fill Answer::allowed_mass and Answer::argmax_token, which need the whole vocabulary's logits. Without it
  // (and without `explain`) only the options' may be computed, which is quicker and has other last digits.
  bool allowed_mass = true;
  // What follows decides when and whether the answer comes, never what it is.
  Priority priority = Priority::kInteractive;
  double timeout_ms = 0;  // from decide()'s call; 0: the decider's default; later than that it is not computed
  std::string client;     // clients get equal shares of the time; any text, such as a hash of an API key
  // As long as somebody has it, what later requests can share with this one (its state; question first: its question)
  // stays in the prefix cache longer than what nobody holds; all that is held together has half of the cache, by last
  // use. May be empty.
  std::shared_ptr<const void> hold;
  // Asked now and then while the answer is waited for; true: nobody wants it any more. May be empty.
  std::function<bool()> cancelled;
  // Called once for each question as soon as its answer is there, in any order, on decide()'s own thread; the answer is
  // the reply's. When decide() then fails, what was told so far is right nevertheless. May be empty.
  std::function<void(std::size_t question, const Answer& answer)> on_answer;
};

struct TokenScore {
  std::int32_t token = 0;
  std::string piece;          // the token's bytes
  double log_prob = 0;        // over the full vocabulary, <= 0
  double prior_log_prob = 0;  // the same token after the neutral state; 0 for letters
  std::string lead;           // what stood before the option's words, such as "Answer:"; often empty
};

struct OptionAnswer {
  std::string id;
  double probability = 0;  // in [0, 1]; they sum to 1 within 1e-12
  double score = 0;        // what softmax saw: a logit (letters, head) or a log-likelihood ratio (text)
  // explain only
  std::string scored_text;  // the label or the words that were scored
  double log_prob = 0;      // of the scored tokens, over the full vocabulary
  double prior_log_prob = 0;
  std::vector<TokenScore> tokens;
};

struct Answer {
  std::string question_id;
  std::vector<OptionAnswer> options;  // in the request's order
  std::size_t best = 0;               // first option with the highest probability
  // How far the answer stands above guessing, in [0, 1]. Choice and yes/no: peak; scale: distance
  // (decision/readout.h).
  double confidence = 0;
  bool abstained = false;   // confidence is below Question::min_confidence
  std::int32_t orders = 1;  // of the options, that the probabilities are a mean over
  Readout readout = Readout::kLetters;
  Layout layout = Layout::kStateFirst;
  std::string prompt_version;  // which prompt was used, such as "direct-options-v1"
  bool calibrated = false;
  Reliability reliability = Reliability::kUnknown;
  std::optional<double> allowed_mass;          // letters: share of the full vocabulary's probability on the labels
  std::optional<std::int32_t> argmax_token;    // letters: the full vocabulary's most likely token
  std::vector<std::int32_t> label_tokens;      // letters: one token id per option
  std::string prompt_sha256;                   // of the rendered prompt's bytes
  std::int32_t prompt_tokens = 0;              // tokens of this question's prompt, state included
  std::string prompt;                          // explain only
  std::vector<std::int32_t> prompt_token_ids;  // explain only
  std::vector<float> hidden_state;             // on request
  std::vector<std::vector<float>> cue_states;  // hidden_size numbers for each of Question::cues
  LessonEffect lesson;
};

// What an answer was computed from and what came out, to be compared by whoever computes it again. All are SHA-256 in
// lower-case hex. Equal `model`, `build`, `settings` and `tokens` give equal `scores` where ModelReport::deterministic.
struct Receipt {
  std::string model;     // of the model file
  std::string build;     // of the version, llama.cpp's and the CPU code in use
  std::string settings;  // of what moves bits: readout, layout, threads, attention, packing, template
  std::string tokens;    // of all prompt and option tokens
  std::string scores;    // of the bits of every option's score, in order
};
bool operator==(const Receipt& a, const Receipt& b);

struct DecisionReply {
  std::vector<Answer> answers;     // in the order of the questions
  std::int32_t input_tokens = 0;   // tokens of all prompts with shared ones counted once
  std::int32_t computed_rows = 0;  // rows decoded for this request, priors included
  std::int32_t cached_tokens = 0;  // of input_tokens: taken from the prefix cache instead of being computed
  bool from_answer_cache = false;  // the same request was answered before; nothing was computed
  double queue_ms = 0;
  double compute_ms = 0;
  std::optional<Receipt> receipt;  // on request
  std::string decision_id;         // where decisions are kept: what feedback names; else empty
};

// What a request may hold. Defaults are generous; SemIf's own are smaller.
struct RequestLimits {
  std::size_t options_max = 1024;
  std::size_t questions_max = 400;  // as many as any wire takes
  std::size_t id_bytes_max = 4096;
};

// Checks everything that needs no model: 1..options_max options, unique ids, non-empty question text, valid UTF-8 in
// every field, a state that is a string, object or array, images that check_image() takes. The error's field is a path
// below `root`, such as "decision.options[2].id".
Status validate_request(const DecisionRequest& request, const RequestLimits& limits);

}  // namespace assay
