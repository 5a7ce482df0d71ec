// Replies are built as Values and written by to_json_text(), the one JSON writer of this program: so a number has the
// same digits in a prompt and in a reply. Its rules for us: doubles are finite (semif_reply checks first), texts are
// UTF-8 (text_value repairs).
#include "server/wires/wire_reply.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "server/wires/reply_values.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

Value model_value(const ModelReport& model) {
  Value::Object object = {{"id", text_value(model.id)}, {"architecture", text_value(model.architecture)}};
  if (!model.sha256.empty()) object.emplace_back("sha256", text_value(model.sha256));
  object.emplace_back("deterministic", Value(model.deterministic));
  object.emplace_back("serving_config", Value(Value::Object{{"context_tokens", count_value(model.context_tokens)},
                                                            {"threads", count_value(model.threads)},
                                                            {"chat_template", text_value(model.chat_template)},
                                                            {"system_role", text_value(model.system_role)},
                                                            {"thinking", text_value(model.thinking)},
                                                            {"readout", Value(readout_name(model.readout))},
                                                            {"readout_source", text_value(model.readout_source)},
                                                            {"extra_buffers", Value(model.extra_buffers)}}));
  return Value(std::move(object));
}

Value::Object result_of(const Answer& answer, const Value& model, const SemifReply& wanted) {
  Value::Object result;
  result.emplace_back("id", text_value(answer.question_id));
  result.emplace_back("option_ids", list_of(answer.options, [](const OptionAnswer& o) { return text_value(o.id); }));
  result.emplace_back("probabilities",
                      list_of(answer.options, [](const OptionAnswer& o) { return Value(o.probability); }));
  result.emplace_back("option_logits", list_of(answer.options, [](const OptionAnswer& o) { return Value(o.score); }));
  if (!answer.label_tokens.empty()) result.emplace_back("answer_token_ids", token_list(answer.label_tokens));
  // What a decision head does not tell is left out, not made up.
  if (answer.prompt_tokens > 0) result.emplace_back("input_tokens", count_value(answer.prompt_tokens));
  if (answer.allowed_mass.has_value()) result.emplace_back("allowed_token_mass", Value(*answer.allowed_mass));
  if (answer.argmax_token.has_value()) result.emplace_back("full_vocab_argmax_id", count_value(*answer.argmax_token));
  if (!answer.prompt_sha256.empty()) result.emplace_back("prompt_sha256", text_value(answer.prompt_sha256));
  result.emplace_back("prompt_version", text_value(answer.prompt_version));
  result.emplace_back("layout", Value(layout_name(answer.layout)));
  result.emplace_back("model", model);
  result.emplace_back("readout", Value(readout_name(answer.readout)));
  result.emplace_back("probability_status", Value(answer.calibrated ? "calibrated" : "uncalibrated"));
  result.emplace_back("reliability", Value(reliability_name(answer.reliability)));
  if (answer.orders > 1) result.emplace_back("x_orders", count_value(answer.orders));
  add_lesson_values(result, answer, [&answer](std::size_t option) { return text_value(answer.options[option].id); });
  if (wanted.confidence) {
    result.emplace_back("x_confidence", Value(answer.confidence));
    result.emplace_back("x_abstained", Value(answer.abstained));
  }
  if (wanted.explain) result.emplace_back("x_explain", explanation_value(answer));
  if (wanted.hidden_state) {
    result.emplace_back("x_hidden_state", hidden_state_value(answer));
  }
  return result;
}

double total_seconds(const DecisionReply& reply) { return (reply.queue_ms + reply.compute_ms) / 1e3; }

Value timing_of(const DecisionReply& reply, const ModelReport& model) {
  return Value(Value::Object{{"batch_size", size_value(reply.answers.size())},
                             {"input_tokens", count_value(reply.input_tokens)},
                             {"computed_rows", count_value(reply.computed_rows)},
                             {"cached_tokens", count_value(reply.cached_tokens)},
                             {"queue_seconds", Value(reply.queue_ms / 1e3)},
                             {"forward_seconds", Value(reply.compute_ms / 1e3)},
                             {"total_seconds", Value(total_seconds(reply))},
                             {"max_request_tokens", count_value(model.context_tokens)}});
}

Value number_or_null(double number) { return std::isfinite(number) ? Value(number) : Value(); }

Value check_score(const CheckScore& score) {
  return Value(Value::Object{{"readout", Value(readout_name(score.readout))},
                             {"type", Value(question_type_name(score.type))},
                             {"right", count_value(score.right)},
                             {"rows", count_value(score.rows)},
                             {"chance", number_or_null(score.chance)},
                             {"p_value", number_or_null(score.p_value)},
                             {"reliable", Value(score.reliable)}});
}

// For each question type under the readout in use: may its probabilities be believed?
Value reliability_of(const ModelReport& model) {
  Value::Object object;
  for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) {
    Reliability reliability = Reliability::kUnknown;
    for (const CheckScore& score : model.check) {
      if (score.readout != model.readout || score.type != type) continue;
      reliability = score.reliable ? Reliability::kReliable : Reliability::kUnreliable;
    }
    object.emplace_back(question_type_name(type), Value(reliability_name(reliability)));
  }
  return Value(std::move(object));
}

Value meta_of(const ModelReport& model) {
  Value::Object meta = {{"architecture", text_value(model.architecture)},
                        {"description", text_value(model.description)},
                        {"file_bytes", size_value(model.file_bytes)},
                        {"weights_bytes", size_value(model.weights_bytes)},
                        {"memory_needed_bytes", size_value(model.memory_needed_bytes)},
                        {"parameters", size_value(model.parameters)},
                        {"vocabulary_tokens", count_value(model.vocabulary_tokens)},
                        {"trained_context_tokens", count_value(model.trained_context_tokens)},
                        {"context_tokens", count_value(model.context_tokens)},
                        {"hidden_size", count_value(model.hidden_size)},
                        {"threads", count_value(model.threads)},
                        {"recurrent", Value(model.recurrent)},
                        {"extra_buffers", Value(model.extra_buffers)},
                        {"packing", text_value(model.packing)},
                        {"packing_unit", text_value(model.packing_unit)},
                        {"packed_bytes", size_value(model.packed_bytes)},
                        {"chat_template", text_value(model.chat_template)},
                        {"system_role", text_value(model.system_role)},
                        {"thinking", text_value(model.thinking)},
                        {"letter_labels", text_value(model.letter_labels)},
                        {"letter_label_count", count_value(model.letter_label_count)},
                        {"readout", Value(readout_name(model.readout))},
                        {"readout_source", text_value(model.readout_source)},
                        {"layout", Value(layout_name(model.layout))},
                        {"deterministic", Value(model.deterministic)},
                        {"determinism", text_value(model.determinism)},
                        {"check", list_of(model.check, check_score)},
                        {"reliability", reliability_of(model)},
                        {"warnings", list_of(model.warnings, [](const std::string& w) { return text_value(w); })}};
  if (!model.decision_head.empty()) meta.emplace_back("decision_head", text_value(model.decision_head));
  if (!model.sha256.empty()) meta.emplace_back("sha256", text_value(model.sha256));
  return Value(std::move(meta));
}

Value model_name(std::string_view name, const std::string& description) {
  return Value(Value::Object{
      {"name", text_value(name)}, {"description", text_value(description)}, {"release_date", Value(kReleaseDate)}});
}

}  // namespace

SemifReply semif_reply_shape(const WireRequest& wire) {
  const auto asks = [](const Question& question) { return question.min_confidence > 0; };
  return {.single = wire.single,
          .explain = wire.request.explain,
          .hidden_state = wire.request.hidden_state,
          .confidence = std::any_of(wire.request.questions.begin(), wire.request.questions.end(), asks)};
}

Result<std::string> semif_reply(const SemifReply& shape, const DecisionReply& reply, const ModelReport& model) {
  ASSAY_ASSERT(!reply.answers.empty());
  const Status finite = check_finite(reply);
  if (!finite.ok()) return finite.error();
  const Value model_object = model_value(model);
  Value::Object body;
  if (shape.single) {
    Value::Object result = result_of(reply.answers.front(), model_object, shape);
    result.emplace_back("forward_seconds", Value(reply.compute_ms / 1e3));
    result.emplace_back("total_seconds", Value(total_seconds(reply)));
    body.emplace_back("result", Value(std::move(result)));
  } else {
    const auto convert = [&](const Answer& answer) { return Value(result_of(answer, model_object, shape)); };
    body.emplace_back("results", list_of(reply.answers, convert));
    body.emplace_back("timing", timing_of(reply, model));
  }
  add_reply_extras(body, reply);
  return to_json_text(Value(std::move(body)));
}

Result<std::string> semif_reply(const WireRequest& wire, const DecisionReply& reply, const ModelReport& model) {
  ASSAY_ASSERT(reply.answers.size() == wire.request.questions.size());
  return semif_reply(semif_reply_shape(wire), reply, model);
}

Result<std::string> semif_answer(const SemifReply& shape, const Answer& answer, const ModelReport& model) {
  if (!all_finite(answer)) {
    return Error{ErrorCode::kNonfiniteLogits,
                 "the model gave a number that is not finite for \"" + answer.question_id + "\"", ""};
  }
  return to_json_text(Value(Value::Object{{"id", text_value(answer.question_id)},
                                          {"answer", Value(result_of(answer, model_value(model), shape))}}));
}

std::string error_body(const Error& error) {
  Value::Object body = {{"error", text_value(error.message)}, {"code", Value(error_name(error.code))}};
  if (!error.field.empty()) body.emplace_back("field", text_value(error.field));
  if (error.code == ErrorCode::kOverloaded || error.code == ErrorCode::kTooBusy ||
      error.code == ErrorCode::kUnavailable) {
    body.emplace_back("retryable", Value(true));
  }
  return to_json_text(Value(std::move(body)));
}

std::string models_body(const ModelReport& model, const std::vector<std::string>& names) {
  Value::Array input = {Value("text")};
  if (model.reads_images) input.emplace_back("image");
  const Value decisions(Value::Array{Value(model.decides ? "decisions" : "embeddings")});
  Value entry(Value::Object{{"id", text_value(model.id)},
                            {"object", Value("model")},
                            {"created", count_value(kReleaseUnixSeconds)},
                            {"owned_by", Value("assay")},
                            {"architecture", Value(Value::Object{{"input_modalities", Value(std::move(input))},
                                                                 {"output_modalities", decisions}})},
                            {"meta", meta_of(model)}});
  Value::Array models;
  for (const std::string& name : names) {
    models.push_back(model_name(name, name == names.front() ? model.description : "Another name for " + model.id));
  }
  return to_json_text(Value(Value::Object{{"object", Value("list")},
                                          {"data", Value(Value::Array{std::move(entry)})},
                                          {"models", Value(std::move(models))}}));
}

std::string health_body(const Health& health) {
  Value::Object limits{{"context_tokens", count_value(health.context_tokens)},
                       {"options_max", size_value(health.limits.options_max)},
                       {"questions_max", size_value(health.limits.questions_max)},
                       {"body_bytes_max", size_value(health.limits.body_bytes_max)}};
  if (health.chat_context_tokens > 0)
    limits.emplace_back("chat_context_tokens", count_value(health.chat_context_tokens));
  Value::Object body{{"status", text_value(health.status)},
                     {"limits", Value(std::move(limits))},
                     {"in_flight", size_value(health.in_flight)},
                     {"queued", size_value(health.queued)},
                     {"running", size_value(health.running)}};
  if (health.asleep) body.emplace_back("sleeping", Value(true));
  return to_json_text(Value(std::move(body)));
}

std::string ping_body(const std::string& status) {
  return to_json_text(Value(Value::Object{{"status", text_value(status)}}));
}

}  // namespace assay::server
