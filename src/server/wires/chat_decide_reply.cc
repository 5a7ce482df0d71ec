// The message, its logprobs and the x_ fields are made once; a completion and a stream differ in where they put them.
#include "server/wires/chat_decide_reply.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "server/wires/reply_values.h"
#include "server/wires/wire_fields.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr double kLogProbMin = -9999.0;  // what OpenAI writes where a probability is next to nothing

// The option that the server added has no value of the caller's.
std::string option_text(const ChatChoice& choice, std::size_t option) {
  return option < choice.values.size() ? to_display_text(choice.values[option].value) : kNoneOfTheseId;
}

std::string content_of(const ChatChoice& choice, std::size_t option) {
  const Value& value = choice.values[option].value;
  switch (choice.content) {
    case ChatContent::kProperty:
      return to_json_text(Value(Value::Object{{choice.property, value}}));
    case ChatContent::kJson:
      return to_json_text(value);
    case ChatContent::kText:
      break;
  }
  return to_display_text(value);
}

// Why there is no content; empty when there is.
std::string refusal_reason(const ChatReplyForm& form, const Answer& answer) {
  if (answer.abstained) return "abstained";
  return answer.best < form.choice.values.size() ? "" : kNoneOfTheseId;
}

std::string refusal_text(const std::string& reason) {
  return reason == "abstained" ? "The answer's confidence is below x_min_confidence." : "None of the values fits.";
}

Value::Object token_of(const std::string& text, double probability) {
  Value::Array bytes;
  bytes.reserve(text.size());
  for (const char byte : text) bytes.push_back(count_value(static_cast<unsigned char>(byte)));
  const double log_prob = probability > 0 ? std::max(std::log(probability), kLogProbMin) : kLogProbMin;
  return {{"token", text_value(text)}, {"logprob", Value(log_prob)}, {"bytes", Value(std::move(bytes))}};
}

// Null unless asked for. The likeliest values first; of equal ones the first declared.
Value logprobs_of(const ChatReplyForm& form, const Answer& answer) {
  if (!form.logprobs || !refusal_reason(form, answer).empty()) return Value();
  std::vector<std::size_t> order(answer.options.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&answer](std::size_t a, std::size_t b) {
    return answer.options[a].probability > answer.options[b].probability;
  });
  order.resize(std::min(order.size(), form.top_logprobs));
  Value::Array top;
  for (const std::size_t option : order) {
    top.emplace_back(token_of(option_text(form.choice, option), answer.options[option].probability));
  }
  Value::Object token = token_of(option_text(form.choice, answer.best), answer.options[answer.best].probability);
  token.emplace_back("top_logprobs", Value(std::move(top)));
  return Value(Value::Object{{"content", Value(Value::Array{Value(std::move(token))})}, {"refusal", Value()}});
}

// By the options' ids, which are the values' texts, made unique where two read alike.
Value probabilities_of(const ChatReplyForm& form, const Answer& answer) {
  const std::vector<double> shares = rounded_probabilities(answer, form.round_digits);
  Value::Object object;
  object.reserve(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    object.emplace_back(i < form.keys.size() ? form.keys[i] : kNoneOfTheseId, Value(shares[i]));
  }
  return Value(std::move(object));
}

void add_extras(const ChatReplyForm& form, const DecisionReply& reply, Value::Object& body) {
  const Answer& answer = reply.answers.front();
  body.emplace_back("x_probabilities", probabilities_of(form, answer));
  body.emplace_back("x_confidence", Value(rounded(answer.confidence, form.round_digits)));
  body.emplace_back("x_entropy", Value(rounded(entropy_of(answer), form.round_digits)));
  body.emplace_back("x_readout", Value(readout_name(answer.readout)));
  body.emplace_back("x_reliability", Value(reliability_name(answer.reliability)));
  if (const std::string reason = refusal_reason(form, answer); !reason.empty()) {
    body.emplace_back("x_reason", Value(reason));
  }
  if (answer.orders > 1) body.emplace_back("x_orders", count_value(answer.orders));
  add_lesson_values(body, answer, [&form](std::size_t option) {
    return option < form.choice.values.size() ? form.choice.values[option].value : Value(kNoneOfTheseId);
  });
  if (answer.allowed_mass.has_value()) body.emplace_back("x_allowed_mass", Value(*answer.allowed_mass));
  if (form.explain) body.emplace_back("x_explain", explanation_value(answer));
  if (form.hidden_state) body.emplace_back("x_hidden_state", hidden_state_value(answer));
  add_reply_extras(body, reply);
}

Value usage_of(const DecisionReply& reply) {
  return Value(Value::Object{
      {"prompt_tokens", count_value(reply.input_tokens)},
      {"completion_tokens", count_value(0)},
      {"total_tokens", count_value(reply.input_tokens)},
      {"prompt_tokens_details", Value(Value::Object{{"cached_tokens", count_value(reply.cached_tokens)}})},
      {"completion_tokens_details", Value(Value::Object{{"reasoning_tokens", count_value(0)}})}});
}

// content and refusal, of which one is null.
Value::Object said(const ChatReplyForm& form, const Answer& answer) {
  const std::string reason = refusal_reason(form, answer);
  if (!reason.empty()) return {{"content", Value()}, {"refusal", Value(refusal_text(reason))}};
  return {{"content", text_value(content_of(form.choice, answer.best))}, {"refusal", Value()}};
}

Value::Object head_of(const ChatReplyForm& form, const char* object) {
  return {{"id", text_value(form.id)},
          {"object", Value(object)},
          {"created", count_value(form.created_unix_seconds)},
          {"model", text_value(form.model_id)}};
}

Status check_reply(const ChatReplyForm& form, const DecisionReply& reply) {
  ASSAY_ASSERT(reply.answers.size() == 1 && reply.answers.front().options.size() >= form.choice.values.size());
  const Answer& answer = reply.answers.front();
  if (all_finite(answer) && std::isfinite(answer.confidence)) return {};
  return Error{ErrorCode::kNonfiniteLogits, "the model gave a number that is not finite", ""};
}

// One event: a chunk with at most one choice.
std::string chunk(const ChatReplyForm& form, Value::Array choices, const DecisionReply* usage,
                  const DecisionReply* extras) {
  Value::Object body = head_of(form, "chat.completion.chunk");
  body.emplace_back("choices", Value(std::move(choices)));
  if (form.include_usage) body.emplace_back("usage", usage == nullptr ? Value() : usage_of(*usage));
  if (extras != nullptr) add_extras(form, *extras, body);
  return "data: " + to_json_text(Value(std::move(body))) + "\n\n";
}

Value delta(Value::Object change, Value logprobs, const Value& finish_reason) {
  return Value(Value::Object{{"index", count_value(0)},
                             {"delta", Value(std::move(change))},
                             {"logprobs", std::move(logprobs)},
                             {"finish_reason", finish_reason}});
}

}  // namespace

Result<std::string> chat_completion(const ChatReplyForm& form, const DecisionReply& reply) {
  const Status checked = check_reply(form, reply);
  if (!checked.ok()) return checked.error();
  const Answer& answer = reply.answers.front();
  Value::Object message = {{"role", Value("assistant")}};
  for (Value::Member& member : said(form, answer)) message.push_back(std::move(member));
  Value choice(Value::Object{{"index", count_value(0)},
                             {"message", Value(std::move(message))},
                             {"logprobs", logprobs_of(form, answer)},
                             {"finish_reason", Value("stop")}});
  Value::Object body = head_of(form, "chat.completion");
  body.emplace_back("choices", Value(Value::Array{std::move(choice)}));
  body.emplace_back("usage", usage_of(reply));
  add_extras(form, reply, body);
  return to_json_text(Value(std::move(body)));
}

Result<std::string> chat_completion_stream(const ChatReplyForm& form, const DecisionReply& reply) {
  const Status checked = check_reply(form, reply);
  if (!checked.ok()) return checked.error();
  const Answer& answer = reply.answers.front();
  const Value::Object whole = said(form, answer);
  const Value::Member& told = whole[0].second.is_null() ? whole[1] : whole[0];  // the one that is not null
  const Value role = delta({{"role", Value("assistant")}, {"content", Value("")}}, Value(), Value());
  const Value content = delta({told}, logprobs_of(form, answer), Value());
  const Value end = delta({}, Value(), Value("stop"));
  std::string text = chunk(form, {role}, nullptr, nullptr);
  text += chunk(form, {content}, nullptr, nullptr);
  text += chunk(form, {end}, nullptr, &reply);
  if (form.include_usage) text += chunk(form, {}, &reply, nullptr);
  return text + "data: [DONE]\n\n";
}

}  // namespace assay::server
