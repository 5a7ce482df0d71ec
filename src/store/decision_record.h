#pragma once
// What is kept of a decision: plain values, the same when they are written and when they are read.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "assay/lesson.h"

namespace assay::store {

// How much of a decision is kept. Ids, numbers, hashes and notes always are.
enum class Keep {
  kHashes,  // no state, no question's words, no description of an option
  kTexts,   // those too: what `assay verify` needs, and teaching from stored decisions
};

// Bytes that were computed from a state and are worth keeping, such as hidden states. They go with the last decision
// that they belong to, and when there are too many (WriterOptions::states_bytes_max).
struct StoredBytes {
  std::string key;  // such as a SHA-256 of model, cue and state
  std::string bytes;
};

// What a lesson that is only being tried would have answered.
struct ShadowAnswer {
  std::string lesson;
  std::int32_t version = 0;
  std::size_t best = 0;  // the option's place
  double confidence = 0;
  std::vector<double> probabilities;  // one for each option
};

// Which option was right, by somebody's word.
struct Label {
  std::size_t option = 0;  // its place
  std::string note;
  std::int64_t time_ms = 0;      // Unix time of the last change
  std::int32_t corrections = 0;  // how often another option took its place
};

struct AnswerRecord {
  std::string question_id;  // as the caller called it: Question::name, or its id
  QuestionType type = QuestionType::kChoice;
  std::string question;         // its text; empty when it was read and texts are not kept
  std::vector<Option> options;  // without descriptions when they were read and texts are not kept
  double min_confidence = 0;
  std::int32_t permute = 1;

  Readout readout = Readout::kLetters;
  Layout layout = Layout::kStateFirst;
  std::string prompt_version;
  std::string prompt_sha256;
  std::vector<double> scores;         // one for each option
  std::vector<double> probabilities;  // one for each option
  std::size_t best = 0;               // below the options' number
  double confidence = 0;
  bool abstained = false;
  bool calibrated = false;
  LessonEffect lesson;
  // Where a lesson's head answered: what the readout gave, one score for each option. Else empty.
  std::vector<double> zero_shot_scores;
  std::optional<ShadowAnswer> shadow;
  std::vector<StoredBytes> bytes;  // written, never read back here: DecisionStore::bytes()

  // Filled when it is read.
  std::string fingerprint;  // question_fingerprint()
  std::optional<Label> label;
};

struct DecisionRecord {
  std::int64_t place = 0;  // in the order of arrival, above 0; filled when it is read
  std::string id;
  std::int64_t time_ms = 0;          // Unix time of the answer
  std::string state;                 // as JSON text; empty when it was read and texts are not kept
  std::string state_sha256;          // of that text; filled when it is read
  Readout readout = Readout::kAuto;  // DecisionRequest::readout
  bool allowed_mass = true;          // DecisionRequest::allowed_mass or explain: it moves the last digits
  std::optional<Receipt> receipt;
  std::vector<AnswerRecord> answers;
  std::vector<StoredBytes> notes = {};  // put_note() with the record, in one transaction; written, never read back here
};

// One answer with what it was given for.
struct AnswerRow {
  std::int64_t place = 0;  // in the order of arrival
  std::string decision_id;
  std::int64_t time_ms = 0;
  std::string state;  // empty when texts are not kept
  std::string state_sha256;
  AnswerRecord answer;
};

// How often a question was answered, and by how many of its answers somebody has said what was right.
struct QuestionCount {
  std::string fingerprint;
  QuestionType type = QuestionType::kChoice;
  std::string question;  // empty when texts are not kept
  std::vector<Option> options;
  std::size_t answers = 0;
  std::size_t labelled = 0;
  std::vector<std::size_t> labelled_by_option;  // one for each option
};

// What names a question in the store: SHA-256 over text, type and options (ids, descriptions, order). Two questions
// have the same only when all of these are equal.
std::string question_fingerprint(const std::string& text, QuestionType type, const std::vector<Option>& options);

// The record of a reply, from the request that it answers. `id` and `time_ms` are the caller's; shadows, zero-shot
// scores and bytes are his to add. REQUIRES: the reply answers the request.
DecisionRecord record_of(const DecisionRequest& request, const DecisionReply& reply);

// About how many bytes of memory a record takes.
std::size_t bytes_in_memory(const DecisionRecord& record);

}  // namespace assay::store
