// Every spelling of a list of values is a source: a field and what is to be read there. Exactly one must be in the
// body.
#include "server/wires/chat_decide_choice.h"

#include <string_view>
#include <utility>

#include "server/wires/chat_decide_grammar.h"
#include "server/wires/chat_decide_schema.h"
#include "server/wires/openai_error.h"

namespace assay::server {
namespace {

enum class SourceType { kSchema, kChoices, kGrammar };

struct Source {
  SourceType type = SourceType::kSchema;
  std::string field;
  const Value* value = nullptr;
};

constexpr const char* kNoSource =
    "with x_decide the body must list the values to decide between: response_format with a JSON schema of one enum "
    "property, json_schema, guided_choice, structured_outputs.choice, or a grammar that is an alternation of literals";

const Value* find_given(const Value& object, const char* key) {
  const Value* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void add_source(std::vector<Source>& sources, const Value& object, const char* key, SourceType type,
                const std::string& parent = "") {
  if (const Value* value = find_given(object, key)) sources.push_back({type, parent + key, value});
}

// response_format says nothing with type "text"; any other type needs its schema.
Status add_response_format(const Value& top, std::vector<Source>& sources) {
  const Value* format = find_given(top, "response_format");
  if (format == nullptr) return {};
  if (!format->is_object()) return invalid_argument("response_format", "must be an object");
  const Value* type = format->find("type");
  const std::string name = type == nullptr || type->string() == nullptr ? "" : *type->string();
  if (name == "text") return {};
  if (name != "json_schema" && name != "json_object") {
    return invalid_argument("response_format.type", "must be \"json_schema\"");
  }
  const Value* wrapped = find_given(*format, "json_schema");
  if (wrapped != nullptr && find_given(*wrapped, "schema") != nullptr) {
    add_source(sources, *wrapped, "schema", SourceType::kSchema, "response_format.json_schema.");
  } else if (find_given(*format, "schema") != nullptr) {
    add_source(sources, *format, "schema", SourceType::kSchema, "response_format.");
  } else {
    return invalid_argument("response_format.json_schema.schema", "is missing: it lists the values to decide between");
  }
  return {};
}

Result<Source> find_source(const Value& top) {
  std::vector<Source> sources;
  const Status format = add_response_format(top, sources);
  if (!format.ok()) return format.error();
  add_source(sources, top, "json_schema", SourceType::kSchema);
  add_source(sources, top, "guided_json", SourceType::kSchema);
  add_source(sources, top, "guided_choice", SourceType::kChoices);
  add_source(sources, top, "grammar", SourceType::kGrammar);
  add_source(sources, top, "guided_grammar", SourceType::kGrammar);
  if (const Value* outputs = find_given(top, "structured_outputs")) {
    const std::string parent = "structured_outputs.";
    add_source(sources, *outputs, "json", SourceType::kSchema, parent);
    add_source(sources, *outputs, "choice", SourceType::kChoices, parent);
    add_source(sources, *outputs, "grammar", SourceType::kGrammar, parent);
  }
  if (sources.empty()) return invalid_argument("response_format", std::string("is missing: ") + kNoSource);
  if (sources.size() > 1) {
    return invalid_argument(sources[1].field, "lists values, and so does " + sources[0].field + "; give one of them");
  }
  return sources.front();
}

Result<ChatChoice> read_choices(const Value& list) {
  if (list.array() == nullptr || list.array()->empty()) {
    return invalid_argument("", "must be an array of strings that is not empty");
  }
  ChatChoice choice;
  for (const Value& text : *list.array()) {
    if (!text.is_string()) return invalid_argument(list_element("", choice.values.size()), "must be a string");
    choice.values.push_back({.value = text, .description = std::nullopt});
  }
  return choice;
}

Result<ChatChoice> read_grammar(const Value& grammar) {
  if (grammar.string() == nullptr) return invalid_argument("", "must be a string");
  Result<std::vector<std::string>> literals = read_choice_grammar(*grammar.string());
  if (!literals.ok()) return literals.error();
  ChatChoice choice;
  for (std::string& literal : literals.value()) {
    choice.values.push_back({.value = Value(std::move(literal)), .description = std::nullopt});
  }
  return choice;
}

Result<ChatChoice> read_source(const Source& source) {
  switch (source.type) {
    case SourceType::kSchema:
      return read_choice_schema(*source.value);
    case SourceType::kChoices:
      return read_choices(*source.value);
    case SourceType::kGrammar:
      return read_grammar(*source.value);
  }
  return invalid_argument("", kNoSource);
}

// x_descriptions: the text of a value to what it means. A text that is no value's is a slip worth telling.
Status describe(const Value& top, std::vector<DeclaredValue>& values) {
  const Value* given = find_given(top, "x_descriptions");
  if (given == nullptr) return {};
  const std::string field = "x_descriptions";
  if (!given->is_object()) return invalid_argument(field, "must be an object: a value's text to what it means");
  for (const auto& [key, text] : *given->object()) {
    if (text.string() == nullptr) return invalid_argument(field, "must have strings only");
    bool found = false;
    for (DeclaredValue& declared : values) {
      if (to_display_text(declared.value) != key) continue;
      declared.description = *text.string();
      found = true;
    }
    if (!found) return invalid_argument(field, "describes something that is not one of the values");
  }
  return {};
}

}  // namespace

Result<ChatChoice> read_chat_choice(const Value& top, const WireSettings& settings) {
  const Result<Source> source = find_source(top);
  if (!source.ok()) return source.error();
  Result<ChatChoice> choice = read_source(source.value());
  if (!choice.ok()) return in_parent(source->field, choice.error());
  choice->field = source->field;
  if (choice->values.size() > settings.options_max) {
    return invalid_argument(source->field, "lists " + std::to_string(choice->values.size()) + " values; the limit is " +
                                               std::to_string(settings.options_max));
  }
  const Status described = describe(top, choice->values);
  if (!described.ok()) return described.error();
  return choice;
}

}  // namespace assay::server
