// A schema is hostile until read: references may go in circles and alternatives may be nested, so every step down is
// counted.
#include "server/wires/chat_decide_schema.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "server/wires/openai_error.h"

namespace assay::server {
namespace {

constexpr int kStepsMax = 32;                  // references and nested alternatives on one way down
constexpr std::size_t kValuesMax = 64 * 1024;  // far above any limit of options; ends what references can multiply

constexpr const char* kAccepted =
    "must be a schema that lists values: an object with one property, or the value itself, given by enum, const, "
    "type \"boolean\", or oneOf/anyOf of these";

std::string text_of(const Value& schema, const char* key) {
  const Value* value = schema.find(key);
  return value == nullptr || value->string() == nullptr ? "" : *value->string();
}

bool is_scalar(const Value& value) { return !value.is_array() && !value.is_object(); }

// One step of a JSON pointer: "~1" is '/', "~0" is '~'.
std::string unescaped(std::string_view step) {
  std::string key;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const bool escaped = step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
    key += escaped ? (step[i + 1] == '0' ? '~' : '/') : step[i];
    if (escaped) ++i;
  }
  return key;
}

// Walks one schema; `root` is where "#/$defs/Name" begins.
class SchemaReader {
 public:
  explicit SchemaReader(const Value& root) : root_(root) {}

  Result<ChatChoice> read() {
    const Result<const Value*> target = resolved(root_, 0);
    if (!target.ok()) return target.error();
    const Value& schema = *target.value();
    if (schema.find("properties") != nullptr || text_of(schema, "type") == "object") return read_object(schema);
    choice_.content = ChatContent::kJson;
    choice_.description = text_of(schema, "description");
    const Status read = read_values(root_, 0, false);
    if (!read.ok()) return read.error();
    return std::move(choice_);
  }

 private:
  // The schema that a $ref, or an allOf of one, stands for.
  Result<const Value*> resolved(const Value& schema, int steps) {
    const Value* at = &schema;
    for (; steps < kStepsMax; ++steps) {
      if (!at->is_object()) return invalid_argument("", kAccepted);
      const Value* all = at->find("allOf");
      if (const Value* reference = at->find("$ref"); reference != nullptr) {
        at = reference->string() == nullptr ? nullptr : pointed_at(*reference->string());
        if (at == nullptr) return invalid_argument("", "has a $ref that leads nowhere within the schema");
      } else if (all != nullptr && all->array() != nullptr && all->array()->size() == 1) {
        at = &all->array()->front();
      } else {
        return at;
      }
    }
    return invalid_argument("", "has a $ref that goes in circles, or too deep");
  }

  const Value* pointed_at(std::string_view pointer) const {
    if (pointer == "#") return &root_;
    if (!pointer.starts_with("#/")) return nullptr;
    const Value* at = &root_;
    for (pointer.remove_prefix(1); at != nullptr && !pointer.empty();) {
      pointer.remove_prefix(1);  // the slash
      const std::size_t end = std::min(pointer.find('/'), pointer.size());
      at = at->find(unescaped(pointer.substr(0, end)));
      pointer.remove_prefix(end);
    }
    return at;
  }

  Result<ChatChoice> read_object(const Value& schema) {
    const Value* properties = schema.find("properties");
    const bool one = properties != nullptr && properties->object() != nullptr && properties->object()->size() == 1;
    if (!one) return invalid_argument(".properties", "must have exactly one property, the value to decide");
    const auto& [name, property] = properties->object()->front();
    const std::string field = ".properties." + name;
    choice_.content = ChatContent::kProperty;
    choice_.property = name;
    const Result<const Value*> target = resolved(property, 0);
    if (!target.ok()) return in_parent(field, target.error());
    choice_.description = text_of(property, "description");
    if (choice_.description.empty()) choice_.description = text_of(*target.value(), "description");
    const Status required = check_required(schema, name);
    if (!required.ok()) return required.error();
    const Status read = read_values(property, 0, false);
    if (!read.ok()) return in_parent(field, read.error());
    return std::move(choice_);
  }

  // `required` may leave the property out, but it cannot ask for one that is not there.
  static Status check_required(const Value& schema, const std::string& name) {
    const Value* required = schema.find("required");
    if (required == nullptr || required->is_null()) return {};
    if (required->array() == nullptr) return invalid_argument(".required", "must be an array");
    for (const Value& key : *required->array()) {
      if (key.string() == nullptr || *key.string() != name) {
        return invalid_argument(".required", "names something that is not the one property");
      }
    }
    return {};
  }

  // `among_others`: the schema is one of several alternatives, so what it says is about its own value.
  Status read_values(const Value& schema, int steps, bool among_others) {
    const Result<const Value*> target = resolved(schema, steps);
    if (!target.ok()) return target.error();
    const Value& values = *target.value();
    if (const Value* list = values.find("enum")) return read_enum(values, *list, among_others);
    if (const Value* value = values.find("const")) return add(*value, meaning(values), ".const");
    for (const char* key : {"oneOf", "anyOf"}) {
      if (const Value* list = values.find(key)) return read_alternatives(*list, key, steps);
    }
    const std::string type = text_of(values, "type");
    if (type == "null") return add(Value(), std::nullopt, ".type");
    if (type != "boolean") return invalid_argument("", kAccepted);
    const Status added = add(Value(true), std::nullopt, ".type");
    return added.ok() ? add(Value(false), std::nullopt, ".type") : added;
  }

  Status read_alternatives(const Value& list, const std::string& key, int steps) {
    if (list.array() == nullptr || list.array()->empty()) {
      return invalid_argument("." + key, "must be an array that is not empty");
    }
    if (steps + 1 >= kStepsMax) return invalid_argument("." + key, "is nested too deep");
    for (std::size_t i = 0; i < list.array()->size(); ++i) {
      const Status read = read_values((*list.array())[i], steps + 1, true);
      if (!read.ok()) return in_parent(list_element("." + key, i), read.error());
    }
    return {};
  }

  Status read_enum(const Value& schema, const Value& list, bool among_others) {
    if (list.array() == nullptr || list.array()->empty()) {
      return invalid_argument(".enum", "must be an array that is not empty");
    }
    const Value* descriptions = nullptr;
    for (const char* key : {"enumDescriptions", "x-enumDescriptions", "x-enum-descriptions"}) {
      if (descriptions == nullptr) descriptions = schema.find(key);
    }
    const std::size_t count = list.array()->size();
    if (descriptions != nullptr && (descriptions->array() == nullptr || descriptions->array()->size() != count)) {
      return invalid_argument(".enumDescriptions", "must be an array with one string for each value of enum");
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::optional<std::string> description;
      if (descriptions != nullptr) {
        const Value& text = (*descriptions->array())[i];
        if (text.string() != nullptr && !text.string()->empty()) description = *text.string();
      } else if (among_others && count == 1) {
        description = meaning(schema);
      }
      const Status added = add((*list.array())[i], std::move(description), list_element(".enum", i));
      if (!added.ok()) return added;
    }
    return {};
  }

  static std::optional<std::string> meaning(const Value& schema) {
    std::string text = text_of(schema, "description");
    if (text.empty()) text = text_of(schema, "title");
    return text.empty() ? std::nullopt : std::optional<std::string>(std::move(text));
  }

  Status add(const Value& value, std::optional<std::string> description, const std::string& field) {
    if (!is_scalar(value)) return invalid_argument(field, "must be a string, a number, a boolean or null");
    if (choice_.values.size() >= kValuesMax)
      return invalid_argument(field, "is of a schema that lists too many values");
    choice_.values.push_back(DeclaredValue{.value = value, .description = std::move(description)});
    return {};
  }

  const Value& root_;
  ChatChoice choice_;
};

}  // namespace

Result<ChatChoice> read_choice_schema(const Value& schema) { return SchemaReader(schema).read(); }

}  // namespace assay::server
