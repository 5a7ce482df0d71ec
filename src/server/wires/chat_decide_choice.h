#pragma once
// What a chat request lets its answer be: one value out of a list, however the caller spelt the list.

#include <string>
#include <vector>

#include "server/wires/openai_values.h"
#include "server/wires/wire_settings.h"

namespace assay::server {

// How the chosen value becomes the message's text.
enum class ChatContent {
  kProperty,  // {"P": value}
  kJson,      // the value as JSON
  kText,      // the text itself
};

struct ChatChoice {
  std::vector<DeclaredValue> values;
  ChatContent content = ChatContent::kText;
  std::string property;     // kProperty: P
  std::string description;  // what the schema says the value is; may be empty
  std::string field;        // the body's field that lists the values
};

// Finds the one list of values in a body:
//
//   response_format  {"type": "json_schema", "json_schema": {"schema": S}}, or {"type": …, "schema": S}
//   json_schema, guided_json, structured_outputs.json      S
//   guided_choice, structured_outputs.choice               ["a", "b"]
//   grammar, guided_grammar, structured_outputs.grammar    root ::= "a" | "b"
//
// S is an object schema with one property, or the schema of a value itself: enum, const, boolean, or oneOf/anyOf of
// these; $ref within S is followed. What a value means is said by enumDescriptions beside enum, by description or title
// beside const, and by the body's x_descriptions, {"value": "text"}, which wins.
// Errors: no list, two lists, anything else in their place (with what is accepted), a value twice, an empty string,
// more than options_max values.
Result<ChatChoice> read_chat_choice(const Value& top, const WireSettings& settings);

}  // namespace assay::server
