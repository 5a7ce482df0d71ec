// Every text in a key stands behind its length, so no two requests can spell the same bytes.

#include "service/answer_cache.h"

#include <bit>
#include <utility>

namespace assay::service {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  for (int i = 0; i < 8; i++) out += static_cast<char>((number >> (8 * i)) & 0xFFU);
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

template <typename Enum>
void append_enum(std::string& out, Enum value) {
  out += static_cast<char>(value);
}

void append_question(std::string& out, const Question& question) {
  append_text(out, question.id);
  append_text(out, question.text);
  append_enum(out, question.type);
  append_number(out, std::bit_cast<std::uint64_t>(question.min_confidence));
  append_number(out, static_cast<std::uint64_t>(question.permute));
  append_number(out, question.cues.size());
  for (const std::string& cue : question.cues) append_text(out, cue);
  out += question.scored ? '\1' : '\0';
  append_number(out, question.options.size());
  for (const Option& option : question.options) {
    append_text(out, option.id);
    out += option.description.has_value() ? '\1' : '\0';
    if (option.description.has_value()) append_text(out, *option.description);
  }
}

// Texts count as they lie in memory outside of their object, which is none at all when they are short.
std::size_t bytes_of(const std::string& text) { return text.capacity() < sizeof(std::string) ? 0 : text.capacity(); }

std::size_t bytes_of(const OptionAnswer& option) {
  std::size_t bytes = sizeof(option) + bytes_of(option.id) + bytes_of(option.scored_text);
  for (const TokenScore& token : option.tokens) bytes += sizeof(token) + bytes_of(token.piece) + bytes_of(token.lead);
  return bytes;
}

std::size_t bytes_of(const Answer& answer) {
  std::size_t bytes = sizeof(answer) + bytes_of(answer.question_id) + bytes_of(answer.prompt) +
                      bytes_of(answer.prompt_version) + bytes_of(answer.prompt_sha256);
  bytes += (answer.label_tokens.size() + answer.prompt_token_ids.size()) * sizeof(std::int32_t);
  bytes += answer.hidden_state.size() * sizeof(float);
  for (const std::vector<float>& state : answer.cue_states)
    bytes += sizeof(std::vector<float>) + state.size() * sizeof(float);
  for (const OptionAnswer& option : answer.options) bytes += bytes_of(option);
  return bytes;
}

std::size_t bytes_of(const DecisionReply& reply) {
  std::size_t bytes = sizeof(reply);
  for (const Answer& answer : reply.answers) bytes += bytes_of(answer);
  return bytes;
}

}  // namespace

std::string answer_key(const DecisionRequest& request) {
  std::string out;
  append_enum(out, request.readout);
  append_enum(out, request.layout);
  for (const bool flag :
       {request.explain, request.hidden_state, request.receipt, request.allowed_mass, request.calibrated})
    out += flag ? '\1' : '\0';
  append_text(out, request.lesson);
  // JSON text tells a string from an object that is written like it, and keeps the order of keys and every digit.
  append_text(out, to_json_text(request.state));
  append_number(out, request.questions.size());
  for (const Question& question : request.questions) append_question(out, question);
  return out;
}

std::optional<DecisionReply> AnswerCache::find(const DecisionRequest& request) {
  if (entries_max_ == 0) return std::nullopt;
  const std::string key = answer_key(request);
  std::shared_ptr<const DecisionReply> reply;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      reply = found->second->reply;
    }
  }
  if (reply == nullptr) {
    ++misses_;
    return std::nullopt;
  }
  ++hits_;
  DecisionReply out = *reply;
  out.from_answer_cache = true;
  out.computed_rows = 0;
  out.cached_tokens = 0;
  out.queue_ms = 0;
  out.compute_ms = 0;
  return out;
}

void AnswerCache::insert(const DecisionRequest& request, const DecisionReply& reply) {
  if (entries_max_ == 0) return;
  std::string key = answer_key(request);
  if (key.size() > kKeyBytesMax) return;
  const std::size_t bytes = key.size() + bytes_of(reply);
  if (bytes > bytes_max_) return;
  auto kept = std::make_shared<const DecisionReply>(reply);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (by_key_.contains(key)) return;
  entries_.push_front({.key = std::move(key), .reply = std::move(kept), .bytes = bytes});
  by_key_.emplace(entries_.front().key, entries_.begin());
  bytes_ += bytes;
  while (entries_.size() > entries_max_ || bytes_ > bytes_max_) {
    by_key_.erase(entries_.back().key);
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
}

std::size_t AnswerCache::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

std::size_t AnswerCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

}  // namespace assay::service
