#include "store/decision_record.h"

#include <utility>

#include "base/assert.h"
#include "base/sha256.h"

namespace assay::store {
namespace {

// Every text stands behind its length, so no two questions can spell the same bytes.
void append_text(std::string& out, const std::string& text) { out += std::to_string(text.size()) + ":" + text; }

AnswerRecord answer_record(const Question& question, const Answer& answer) {
  ASSAY_ASSERT(answer.options.size() == question.options.size() && answer.best < answer.options.size());
  AnswerRecord out{.question_id = question.name.empty() ? question.id : question.name,
                   .type = question.type,
                   .question = question.text,
                   .options = question.options,
                   .min_confidence = question.min_confidence,
                   .permute = question.permute,
                   .readout = answer.readout,
                   .layout = answer.layout,
                   .prompt_version = answer.prompt_version,
                   .prompt_sha256 = answer.prompt_sha256,
                   .scores = {},
                   .probabilities = {},
                   .best = answer.best,
                   .confidence = answer.confidence,
                   .abstained = answer.abstained,
                   .calibrated = answer.calibrated,
                   .lesson = answer.lesson};
  for (const OptionAnswer& option : answer.options) {
    out.scores.push_back(option.score);
    out.probabilities.push_back(option.probability);
  }
  return out;
}

// Where the model's file was not hashed, a receipt vouches for nothing.
bool is_whole(const std::optional<Receipt>& receipt) { return receipt && !receipt->model.empty(); }

std::size_t bytes_of(const AnswerRecord& answer) {
  std::size_t bytes = sizeof(AnswerRecord) + answer.question_id.size() + answer.question.size();
  for (const Option& option : answer.options) {
    bytes += sizeof(Option) + option.id.size() + (option.description ? option.description->size() : 0);
  }
  bytes += (answer.scores.size() + answer.probabilities.size() + answer.zero_shot_scores.size()) * sizeof(double);
  for (const StoredBytes& one : answer.bytes) bytes += sizeof(StoredBytes) + one.key.size() + one.bytes.size();
  return bytes;
}

}  // namespace

std::string question_fingerprint(const std::string& text, QuestionType type, const std::vector<Option>& options) {
  std::string bytes = "question 1\n";
  append_text(bytes, text);
  append_text(bytes, question_type_name(type));
  bytes += std::to_string(options.size()) + ";";
  for (const Option& option : options) {
    append_text(bytes, option.id);
    bytes += option.description ? '+' : '-';
    if (option.description) append_text(bytes, *option.description);
  }
  return sha256_hex(bytes);
}

DecisionRecord record_of(const DecisionRequest& request, const DecisionReply& reply) {
  ASSAY_ASSERT(request.questions.size() == reply.answers.size());
  DecisionRecord out{.state = to_json_text(request.state),
                     .readout = request.readout,
                     .allowed_mass = request.allowed_mass || request.explain,
                     .receipt = is_whole(reply.receipt) ? reply.receipt : std::nullopt,
                     .answers = {}};
  for (std::size_t i = 0; i < reply.answers.size(); i++) {
    out.answers.push_back(answer_record(request.questions[i], reply.answers[i]));
  }
  return out;
}

std::size_t bytes_in_memory(const DecisionRecord& record) {
  std::size_t bytes = sizeof(DecisionRecord) + record.id.size() + record.state.size();
  for (const AnswerRecord& answer : record.answers) bytes += bytes_of(answer);
  for (const StoredBytes& note : record.notes) bytes += sizeof(StoredBytes) + note.key.size() + note.bytes.size();
  return bytes;
}

}  // namespace assay::store
