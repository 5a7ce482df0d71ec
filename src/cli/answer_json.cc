#include "cli/answer_json.h"

#include <utility>

#include "cli/json_fields.h"

namespace assay::cli {
namespace {

Value token_ids(const std::vector<std::int32_t>& ids) {
  Value::Array out;
  for (const std::int32_t id : ids) out.push_back(int_value(id));
  return Value(std::move(out));
}

Value option_details(const OptionAnswer& option) {
  Value::Array tokens;
  for (const TokenScore& token : option.tokens) {
    Value::Object object = {{"token", int_value(token.token)},
                            {"piece", Value(readable_text(token.piece, token.piece.size()))}};
    if (!token.lead.empty()) object.emplace_back("lead", Value(token.lead));
    object.emplace_back("log_prob", Value(token.log_prob));
    object.emplace_back("prior_log_prob", Value(token.prior_log_prob));
    tokens.emplace_back(std::move(object));
  }
  return Value(Value::Object{{"id", Value(option.id)},
                             {"probability", Value(option.probability)},
                             {"score", Value(option.score)},
                             {"scored_text", Value(option.scored_text)},
                             {"log_prob", Value(option.log_prob)},
                             {"prior_log_prob", Value(option.prior_log_prob)},
                             {"tokens", Value(std::move(tokens))}});
}

}  // namespace

Value::Object score_members(const Row& row, const Answer& answer) {
  Value::Object out;
  if (!row.id.is_null()) out.push_back({"id", row.id});
  out.push_back({"choice", Value(answer.options[answer.best].id)});
  Value::Object probabilities;
  for (const OptionAnswer& option : answer.options) {
    probabilities.push_back({option.id, Value(option.probability)});
  }
  out.push_back({"probabilities", Value(std::move(probabilities))});
  out.push_back({"readout", Value(readout_name(answer.readout))});
  out.push_back({"layout", Value(layout_name(answer.layout))});
  out.push_back({"calibrated", Value(answer.calibrated)});
  out.push_back({"reliability", Value(reliability_name(answer.reliability))});
  if (answer.allowed_mass) out.push_back({"allowed_mass", Value(*answer.allowed_mass)});
  if (row.expected) {
    out.push_back({"expected", Value(row.question.options[*row.expected].id)});
    out.push_back({"correct", Value(answer.best == *row.expected)});
  }
  return out;
}

Value::Object decide_members(const Row& row, const Answer& answer, bool explain) {
  Value::Object out = score_members(row, answer);
  out.push_back({"prompt_version", Value(answer.prompt_version)});
  out.push_back({"prompt_sha256", Value(answer.prompt_sha256)});
  out.push_back({"prompt_tokens", int_value(answer.prompt_tokens)});
  if (!explain) return out;
  Value::Array options;
  for (const OptionAnswer& option : answer.options) options.push_back(option_details(option));
  Value::Object details = {{"prompt", Value(answer.prompt)},
                           {"prompt_token_ids", token_ids(answer.prompt_token_ids)},
                           {"options", Value(std::move(options))}};
  if (!answer.label_tokens.empty()) details.push_back({"label_tokens", token_ids(answer.label_tokens)});
  if (answer.argmax_token) details.push_back({"argmax_token", int_value(*answer.argmax_token)});
  out.push_back({"explain", Value(std::move(details))});
  return out;
}

Value timing_value(const DecisionReply& reply) {
  return Value(Value::Object{{"input_tokens", int_value(reply.input_tokens)},
                             {"computed_rows", int_value(reply.computed_rows)},
                             {"queue_ms", Value(reply.queue_ms)},
                             {"compute_ms", Value(reply.compute_ms)}});
}

Value error_value(const Error& error) {
  Value::Object out = {{"code", Value(error_name(error.code))},
                       {"message", Value(readable_text(error.message, error.message.size()))}};
  if (!error.field.empty()) out.push_back({"field", Value(readable_text(error.field, error.field.size()))});
  return Value(std::move(out));
}

}  // namespace assay::cli
