// Numbers are checked first, then everything is one Value that to_json_text() writes.
#include "server/wires/openai_decisions_reply.h"

#include <cmath>
#include <utility>

#include "base/assert.h"
#include "server/wires/reply_values.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

Status check_answer(const Answer& answer) {
  if (all_finite(answer) && std::isfinite(answer.confidence)) return {};
  return Error{ErrorCode::kNonfiniteLogits,
               "the model gave a number that is not finite for questions[" + answer.question_id + "]", ""};
}

// The option that the server added has no value of the caller's.
Value value_of(const OpenAiQuestion& question, std::size_t option) {
  return option < question.values.size() ? question.values[option] : Value(kNoneOfTheseId);
}

void add_choice(const OpenAiReplyForm& form, const OpenAiQuestion& question, const Answer& answer,
                Value::Object& object) {
  const std::vector<double> shares = rounded_probabilities(answer, form.round_digits);
  Value::Array probabilities;
  probabilities.reserve(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    probabilities.emplace_back(Value::Object{{"value", value_of(question, i)}, {"probability", Value(shares[i])}});
  }
  object.emplace_back("choice", value_of(question, answer.best));
  object.emplace_back("confidence", Value(rounded(answer.confidence, form.round_digits)));
  object.emplace_back("probabilities", Value(std::move(probabilities)));
}

// The score is the mean of the levels' values, from the probabilities as they are before rounding.
void add_score(const OpenAiReplyForm& form, const OpenAiQuestion& question, const Answer& answer,
               Value::Object& object) {
  ASSAY_ASSERT(answer.options.size() == question.labels.size());
  const std::vector<double> shares = rounded_probabilities(answer, form.round_digits);
  Value::Array probabilities;
  probabilities.reserve(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    probabilities.emplace_back(Value::Object{
        {"label", text_value(question.labels[i])}, {"probability", Value(shares[i])}, {"value", size_value(i)}});
  }
  object.emplace_back("score", Value(rounded(expected_place(answer), form.round_digits)));
  object.emplace_back("confidence", Value(rounded(answer.confidence, form.round_digits)));
  object.emplace_back("probabilities", Value(std::move(probabilities)));
}

Value name_of(const OpenAiQuestion& question) {
  return question.name.has_value() ? text_value(*question.name) : Value();
}

// An option as the answer's own fields say it.
Value option_value(const OpenAiQuestion& question, std::size_t option) {
  if (question.type == OpenAiQuestionType::kPredicate) return Value(option == 0);
  return question.type == OpenAiQuestionType::kChoice ? value_of(question, option) : size_value(option);
}

// What no field of OpenAI's says.
void add_extras(const OpenAiReplyForm& form, const OpenAiQuestion& question, const Answer& answer,
                Value::Object& object) {
  object.emplace_back("x_entropy", Value(rounded(entropy_of(answer), form.round_digits)));
  object.emplace_back("x_readout", Value(readout_name(answer.readout)));
  object.emplace_back("x_reliability", Value(reliability_name(answer.reliability)));
  if (answer.orders > 1) object.emplace_back("x_orders", count_value(answer.orders));
  add_lesson_values(object, answer, [&question](std::size_t option) { return option_value(question, option); });
  if (answer.allowed_mass.has_value()) object.emplace_back("x_allowed_mass", Value(*answer.allowed_mass));
  if (form.explain) object.emplace_back("x_explain", explanation_value(answer));
  if (form.hidden_state) object.emplace_back("x_hidden_state", hidden_state_value(answer));
}

Value::Object decided(const OpenAiReplyForm& form, const OpenAiQuestion& question, const Answer& answer) {
  ASSAY_ASSERT(!answer.options.empty() && answer.best < answer.options.size());
  Value::Object object;
  switch (question.type) {
    case OpenAiQuestionType::kPredicate:
      object = {{"type", Value("predicate")}, {"name", name_of(question)}};
      object.emplace_back("probability", Value(rounded(answer.options.front().probability, form.round_digits)));
      object.emplace_back("x_confidence", Value(rounded(answer.confidence, form.round_digits)));
      break;
    case OpenAiQuestionType::kChoice:
      object = {{"type", Value("choice")}, {"name", name_of(question)}};
      add_choice(form, question, answer, object);
      break;
    case OpenAiQuestionType::kScore:
      object = {{"type", Value("score")}, {"name", name_of(question)}};
      add_score(form, question, answer, object);
      break;
  }
  add_extras(form, question, answer, object);
  return object;
}

Value::Object answer_object(const OpenAiReplyForm& form, const OpenAiQuestion& question, const Answer& answer) {
  Value::Object object = decided(form, question, answer);
  if (!answer.abstained) return object;
  return {{"type", Value("refusal")},
          {"name", name_of(question)},
          {"x_reason", Value("abstained")},
          {"x_answer", Value(std::move(object))}};
}

Value usage_of(const DecisionReply& reply) {
  return Value(
      Value::Object{{"input_tokens", count_value(reply.input_tokens)},
                    {"input_tokens_details", Value(Value::Object{{"cache_write_tokens", count_value(0)},
                                                                 {"cached_tokens", count_value(reply.cached_tokens)}})},
                    {"output_tokens", count_value(0)},
                    {"output_tokens_details", Value(Value::Object{{"reasoning_tokens", count_value(0)}})},
                    {"total_tokens", count_value(reply.input_tokens)}});
}

}  // namespace

Result<std::string> openai_decisions_reply(const OpenAiReplyForm& form, const DecisionReply& reply) {
  ASSAY_ASSERT(reply.answers.size() == form.questions.size());
  Value::Array answers;
  answers.reserve(reply.answers.size());
  for (std::size_t i = 0; i < reply.answers.size(); ++i) {
    const Status finite = check_answer(reply.answers[i]);
    if (!finite.ok()) return finite.error();
    answers.emplace_back(answer_object(form, form.questions[i], reply.answers[i]));
  }
  Value::Object body = {
      {"answers", Value(std::move(answers))}, {"model", text_value(form.model_id)}, {"usage", usage_of(reply)}};
  add_reply_extras(body, reply);
  return to_json_text(Value(std::move(body)));
}

Result<std::string> openai_decisions_event(const OpenAiReplyForm& form, std::size_t question, const Answer& answer) {
  ASSAY_ASSERT(question < form.questions.size());
  const Status finite = check_answer(answer);
  if (!finite.ok()) return finite.error();
  Value::Object event = {{"index", size_value(question)}};
  for (Value::Member& member : answer_object(form, form.questions[question], answer))
    event.push_back(std::move(member));
  return to_json_text(Value(std::move(event)));
}

}  // namespace assay::server
