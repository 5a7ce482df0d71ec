#include "server/wires/reply_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/utf8.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

bool finite(const OptionAnswer& option) {
  const auto token_finite = [](const TokenScore& token) {
    return std::isfinite(token.log_prob) && std::isfinite(token.prior_log_prob);
  };
  return std::isfinite(option.probability) && std::isfinite(option.score) && std::isfinite(option.log_prob) &&
         std::isfinite(option.prior_log_prob) && std::all_of(option.tokens.begin(), option.tokens.end(), token_finite);
}

Value token_score(const TokenScore& token) {
  Value::Object object = {{"token", count_value(token.token)}, {"piece", text_value(token.piece)}};
  // A piece can be a part of a character; then its bytes are the truth.
  if (first_invalid_utf8(token.piece).has_value()) {
    object.emplace_back("bytes",
                        list_of(token.piece, [](char byte) { return count_value(static_cast<unsigned char>(byte)); }));
  }
  if (!token.lead.empty()) object.emplace_back("lead", text_value(token.lead));
  object.emplace_back("log_prob", Value(token.log_prob));
  object.emplace_back("prior_log_prob", Value(token.prior_log_prob));
  return Value(std::move(object));
}

Value explained_option(const OptionAnswer& option) {
  return Value(Value::Object{{"id", text_value(option.id)},
                             {"scored_text", text_value(option.scored_text)},
                             {"log_prob", Value(option.log_prob)},
                             {"prior_log_prob", Value(option.prior_log_prob)},
                             {"tokens", list_of(option.tokens, token_score)}});
}

}  // namespace

bool all_finite(const Answer& answer) {
  const auto option_finite = [](const OptionAnswer& option) { return finite(option); };
  const auto value_finite = [](float value) { return std::isfinite(value); };
  return std::isfinite(answer.allowed_mass.value_or(0)) && std::isfinite(answer.confidence) &&
         std::isfinite(answer.lesson.threshold.value_or(0)) && std::isfinite(answer.lesson.risk.value_or(0)) &&
         std::all_of(answer.options.begin(), answer.options.end(), option_finite) &&
         std::all_of(answer.hidden_state.begin(), answer.hidden_state.end(), value_finite);
}

Status check_finite(const DecisionReply& reply) {
  for (const Answer& answer : reply.answers) {
    if (all_finite(answer)) continue;
    return Error{ErrorCode::kNonfiniteLogits,
                 "the model gave a number that is not finite for \"" + answer.question_id + "\"", ""};
  }
  if (std::isfinite(reply.queue_ms) && std::isfinite(reply.compute_ms)) return {};
  return Error{ErrorCode::kInternal, "a time of the reply is not finite", ""};
}

Value token_list(const std::vector<std::int32_t>& tokens) {
  return list_of(tokens, [](std::int32_t token) { return count_value(token); });
}

Value explanation_value(const Answer& answer) {
  return Value(Value::Object{{"prompt", text_value(answer.prompt)},
                             {"token_ids", token_list(answer.prompt_token_ids)},
                             {"options", list_of(answer.options, explained_option)}});
}

Value hidden_state_value(const Answer& answer) {
  return list_of(answer.hidden_state, [](float v) { return Value(static_cast<double>(v)); });
}

Value receipt_value(const Receipt& receipt) {
  return Value(Value::Object{{"model", text_value(receipt.model)},
                             {"build", text_value(receipt.build)},
                             {"settings", text_value(receipt.settings)},
                             {"tokens", text_value(receipt.tokens)},
                             {"scores", text_value(receipt.scores)}});
}

void add_lesson_values(Value::Object& out, const Answer& answer,
                       const std::function<Value(std::size_t option)>& option_value) {
  const LessonEffect& lesson = answer.lesson;
  if (answer.calibrated || lesson.used) out.emplace_back("x_calibrated", Value(answer.calibrated));
  if (lesson.used) {
    out.emplace_back("x_lesson", Value(Value::Object{{"name", text_value(lesson.used->name)},
                                                     {"version", count_value(lesson.used->version)},
                                                     {"sha256", text_value(lesson.used->sha256)},
                                                     {"taught", Value(lesson.used->taught)}}));
  }
  if (!lesson.note.empty()) out.emplace_back("x_lesson_note", text_value(lesson.note));
  if (lesson.action != Action::kNone) out.emplace_back("x_decision", Value(action_name(lesson.action)));
  if (lesson.threshold) out.emplace_back("x_threshold", Value(*lesson.threshold));
  if (lesson.risk) out.emplace_back("x_risk", Value(*lesson.risk));
  if (!lesson.fallback) return;
  const auto is_fallback = [&lesson](const OptionAnswer& option) { return option.id == *lesson.fallback; };
  const auto found = std::find_if(answer.options.begin(), answer.options.end(), is_fallback);
  if (found == answer.options.end()) return;
  out.emplace_back("x_fallback", option_value(static_cast<std::size_t>(found - answer.options.begin())));
}

void add_reply_extras(Value::Object& body, const DecisionReply& reply) {
  if (reply.from_answer_cache) body.emplace_back("x_answer_cache", Value(true));
  if (!reply.decision_id.empty()) body.emplace_back("x_decision_id", text_value(reply.decision_id));
  if (reply.receipt.has_value()) body.emplace_back("x_receipt", receipt_value(*reply.receipt));
}

double entropy_of(const Answer& answer) {
  double sum = 0;
  for (const OptionAnswer& option : answer.options) {
    if (option.probability > 0) sum -= option.probability * std::log(option.probability);
  }
  return std::max(sum, 0.0);  // also turns the -0.0 of a certain answer round
}

double expected_place(const Answer& answer) {
  double sum = 0;
  for (std::size_t i = 0; i < answer.options.size(); ++i) {
    sum += static_cast<double>(i) * answer.options[i].probability;
  }
  return sum;
}

double rounded(double number, int digits) {
  if (digits <= 0) return number;
  const double scale = std::pow(10.0, digits);
  return std::round(number * scale) / scale;
}

std::vector<double> rounded_probabilities(const Answer& answer, int digits) {
  std::vector<double> out;
  out.reserve(answer.options.size());
  for (const OptionAnswer& option : answer.options) out.push_back(option.probability);
  if (digits <= 0) return out;
  const double scale = std::pow(10.0, digits);
  std::vector<double> lost(out.size());
  double missing = scale;
  for (std::size_t i = 0; i < out.size(); ++i) {
    // 0.29 * 100 is a hair below 29.
    const double whole = std::floor(out[i] * scale + 1e-9);
    lost[i] = out[i] * scale - whole;
    missing -= whole;
    out[i] = whole;
  }
  std::vector<std::size_t> order(out.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lost[a] > lost[b]; });
  for (std::size_t i = 0; i < order.size() && missing >= 1; ++i, missing -= 1) out[order[i]] += 1;
  for (double& units : out) units /= scale;
  return out;
}

}  // namespace assay::server
