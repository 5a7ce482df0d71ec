#include "server/wires/systemone_reply.h"

#include <utility>
#include <vector>

#include "base/assert.h"
#include "server/wires/reply_values.h"
#include "server/wires/systemone_error.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

// An answer's main field: null where it abstained.
template <typename Main>
void add_main(Value::Object& out, const char* key, const Answer& answer, const Main& main) {
  if (answer.abstained) {
    out.emplace_back(key, Value());
  } else {
    out.emplace_back(key, Value(main));
  }
}

// {name: probability, …}; the name of option i is names(i).
template <typename Names>
Value probability_object(const Answer& answer, int round_digits, Names names) {
  const std::vector<double> probabilities = rounded_probabilities(answer, round_digits);
  Value::Object object;
  object.reserve(probabilities.size());
  for (std::size_t i = 0; i < probabilities.size(); ++i) object.emplace_back(names(i), Value(probabilities[i]));
  return Value(std::move(object));
}

// The probability of yes, which is the first option of a noul.
void add_noul(Value::Object& out, const Answer& answer, int round_digits) {
  out.emplace_back("type", Value("noul"));
  add_main(out, "noul", answer, rounded(answer.options.front().probability, round_digits));
}

void add_choice(Value::Object& out, const SystemOneQuestion& question, const Answer& answer, int round_digits) {
  ASSAY_ASSERT(question.names.size() == answer.options.size());
  out.emplace_back("type", Value("choice"));
  add_main(out, "choice", answer, question.names[answer.best]);
  out.emplace_back("probabilities",
                   probability_object(answer, round_digits, [&](std::size_t i) { return question.names[i]; }));
  out.emplace_back("confidence", Value(rounded(answer.confidence, round_digits)));
}

void add_score(Value::Object& out, const SystemOneQuestion& question, const Answer& answer, int round_digits) {
  ASSAY_ASSERT(question.levels.size() == answer.options.size());
  const auto key = [](std::size_t i) { return std::to_string(i); };
  Value::Object legend;
  for (std::size_t i = 0; i < question.levels.size(); ++i) legend.emplace_back(key(i), question.levels[i]);
  out.emplace_back("type", Value("score"));
  add_main(out, "score", answer, rounded(expected_place(answer), round_digits));
  out.emplace_back("legend", Value(std::move(legend)));
  out.emplace_back("probabilities", probability_object(answer, round_digits, key));
  out.emplace_back("confidence", Value(rounded(answer.confidence, round_digits)));
}

// An option as the answer's own fields say it: true or false, a name, or a level's number.
Value option_value(const SystemOneQuestion& question, std::size_t option) {
  if (question.type == QuestionType::kYesNo) return Value(option == 0);
  return question.type == QuestionType::kChoice ? Value(question.names[option]) : size_value(option);
}

Value answer_value(const SystemOneEcho& echo, const SystemOneStyle& style, std::size_t index, const Answer& answer) {
  const SystemOneQuestion& question = echo.questions[index];
  Value::Object out;
  if (question.type == QuestionType::kYesNo) {
    add_noul(out, answer, style.round_digits);
    // The contract's noul has no confidence; who asks for the least one is told what it was measured by.
    if (question.wants_confidence) {
      out.emplace_back("x_confidence", Value(rounded(answer.confidence, style.round_digits)));
    }
    // Nor has it probabilities, which stay where the other types abstain.
    if (answer.abstained) {
      out.emplace_back("x_noul", Value(rounded(answer.options.front().probability, style.round_digits)));
    }
  } else if (question.type == QuestionType::kChoice) {
    add_choice(out, question, answer, style.round_digits);
  } else {
    add_score(out, question, answer, style.round_digits);
  }
  if (question.wants_confidence) out.emplace_back("x_abstained", Value(answer.abstained));
  if (answer.abstained) out.emplace_back("x_reason", Value("abstained"));
  out.emplace_back("x_entropy", Value(rounded(entropy_of(answer), style.round_digits)));
  out.emplace_back("x_readout", Value(readout_name(answer.readout)));
  out.emplace_back("x_reliability", Value(reliability_name(answer.reliability)));
  if (answer.orders > 1) out.emplace_back("x_orders", count_value(answer.orders));
  add_lesson_values(out, answer, [&question](std::size_t option) { return option_value(question, option); });
  if (answer.allowed_mass.has_value()) out.emplace_back("x_allowed_mass", Value(*answer.allowed_mass));
  if (echo.explain) out.emplace_back("x_explain", explanation_value(answer));
  if (echo.hidden_state) out.emplace_back("x_hidden_state", hidden_state_value(answer));
  return Value(std::move(out));
}

Status check_answer(const SystemOneQuestion& question, const Answer& answer) {
  if (all_finite(answer)) return {};
  return Error{ErrorCode::kNonfiniteLogits,
               "the model gave a number that is not finite for " + to_json_text(loc_part(question.id)), ""};
}

Value usage_value(const DecisionReply& reply) {
  return Value(Value::Object{{"input_tokens", count_value(reply.input_tokens)}, {"output_tokens", count_value(0)}});
}

}  // namespace

Result<std::string> system_one_reply(const SystemOneEcho& echo, const SystemOneStyle& style,
                                     const DecisionReply& reply) {
  ASSAY_ASSERT(reply.answers.size() == echo.questions.size() && !reply.answers.empty());
  bool calibrated = true;
  Value::Object answers;
  answers.reserve(reply.answers.size());
  for (std::size_t i = 0; i < reply.answers.size(); ++i) {
    const Status checked = check_answer(echo.questions[i], reply.answers[i]);
    if (!checked.ok()) return checked.error();
    calibrated = calibrated && reply.answers[i].calibrated;
    answers.emplace_back(echo.questions[i].id, answer_value(echo, style, i, reply.answers[i]));
  }
  Value::Object body = {{"model", text_value(style.model_id)},
                        {"answers", Value(std::move(answers))},
                        {"usage", usage_value(reply)},
                        {"x_calibrated", Value(calibrated)}};
  add_reply_extras(body, reply);
  return to_json_text(Value(std::move(body)));
}

Result<std::string> system_one_answer(const SystemOneEcho& echo, const SystemOneStyle& style, std::size_t question,
                                      const Answer& answer) {
  ASSAY_ASSERT(question < echo.questions.size());
  const Status checked = check_answer(echo.questions[question], answer);
  if (!checked.ok()) return checked.error();
  return to_json_text(Value(Value::Object{{"id", Value(echo.questions[question].id)},
                                          {"answer", answer_value(echo, style, question, answer)}}));
}

}  // namespace assay::server
