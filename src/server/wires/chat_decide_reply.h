#pragma once
// A decision as the chat completion that would have said it.

#include <cstdint>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "server/wires/chat_decide_choice.h"

namespace assay::server {

// What a reply is written from besides the answer.
struct ChatReplyForm {
  ChatChoice choice;
  std::vector<std::string> keys;  // of x_probabilities: the values' texts, unique
  std::string id;                 // "chatcmpl-…"
  std::string model_id;
  std::int64_t created_unix_seconds = 0;
  int round_digits = 0;  // WireSettings::round_digits
  bool logprobs = false;
  std::size_t top_logprobs = 20;
  bool include_usage = false;  // a stream's last chunk tells it
  bool explain = false;
  bool hidden_state = false;
};

// A chat.completion: one choice whose content is the likeliest value, finish_reason "stop", and behind OpenAI's fields
// x_probabilities {value's text: probability}, x_confidence, x_entropy, x_readout, x_reliability and what was asked
// for. With logprobs the value is told as one token, with ln p (at least -9999) and the likeliest values as
// top_logprobs. An answer that abstained, or is the option that x_none_of_these added, has content null, the reason in
// message.refusal, and x_reason "abstained" or "none_of_these". kNonfiniteLogits when a number is NaN or infinite.
// REQUIRES: `reply` answers one question with the choice's values as its options.
Result<std::string> chat_completion(const ChatReplyForm& form, const DecisionReply& reply);

// The same as the whole text of an event stream: the role, the content, the end (with the x_ fields), usage when it was
// asked for, and [DONE].
Result<std::string> chat_completion_stream(const ChatReplyForm& form, const DecisionReply& reply);

}  // namespace assay::server
