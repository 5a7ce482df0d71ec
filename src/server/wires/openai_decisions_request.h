#pragma once
// The body of POST /v1/decisions to a DecisionRequest.
//
//   {"model": "gpt-6-luna", "input": "My card was charged twice.",
//    "questions": [{"type": "choice", "name": "wish", "instructions": "What does the customer want?",
//                   "choices": [{"value": "refund", "description": "Wants money back"}, {"value": "info"}]},
//                  {"type": "predicate", "instructions": "The customer is angry."}]}
//
// docs/openai.md has every field.

#include <optional>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "server/wires/openai_values.h"
#include "server/wires/wire_fields.h"
#include "server/wires/wire_settings.h"

namespace assay::server {

// The name of OpenAI's model, known on this wire beside the settings' names: who changes a base URL changes no model.
inline constexpr const char* kOpenAiDecisionsModel = "gpt-6-luna";

enum class OpenAiQuestionType { kPredicate, kChoice, kScore };

// What the reply needs of a question beyond its options' probabilities.
struct OpenAiQuestion {
  OpenAiQuestionType type = OpenAiQuestionType::kPredicate;
  std::optional<std::string> name;
  std::vector<Value> values;        // choice: of the options in order; the one that the server added is not there
  std::vector<std::string> labels;  // score
};

struct OpenAiDecisions {
  DecisionRequest request;  // one question for each of `questions`, with the position in the list as its id
  std::vector<OpenAiQuestion> questions;
};

// Reads a body that is JSON. Checked here: 1..openai_questions_max questions; instructions that are not empty; 2 up to
// system_one_options_max choices with unique values, strings (not empty) or booleans; 2 up to system_one_levels_max
// levels; the input (openai_input.h); the model's name; the x_ fields, at the top or in a question. prompt_cache_key,
// prompt_cache_options, safety_identifier and unknown fields are ignored. A field of the wrong type is refused.
// The error's field is the path, such as "questions[1].choices[0].value".
Result<OpenAiDecisions> read_openai_decisions(const Value& top, const WireHeaders& headers,
                                              const WireSettings& settings);

// A decider's field in this wire's terms: "questions[1].options[0].id" becomes "questions[1].choices[0].value".
std::string openai_decisions_field(const std::string& field, const std::vector<OpenAiQuestion>& questions);

}  // namespace assay::server
