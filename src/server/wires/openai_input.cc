// Readers give errors whose field is relative to what they read; the caller puts its own part of the path before it.
#include "server/wires/openai_input.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "server/wires/openai_error.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

using PartTypes = std::vector<std::string_view>;

// What each content may hold, as the contract has it. An image is known, so that its refusal can say why.
const PartTypes& user_parts() {
  static const PartTypes kTypes = {"input_text", "input_json", "input_image"};
  return kTypes;
}
const PartTypes& instruction_parts() {
  static const PartTypes kTypes = {"input_text"};
  return kTypes;
}
const PartTypes& output_parts() {
  static const PartTypes kTypes = {"input_text", "input_image"};
  return kTypes;
}
const PartTypes& assistant_parts() {
  static const PartTypes kTypes = {"output_text", "refusal"};
  return kTypes;
}

// What to do with an image.
struct Pictures {
  ImageList* list = nullptr;  // takes it; nullptr: it is refused
  const char* refusal = "is an image, and this model reads text only; send the text that matters";
};

std::string listed(const PartTypes& types, const Pictures& pictures) {
  std::string text;
  for (const std::string_view type : types) {
    if (type == "input_image" && pictures.list == nullptr) continue;
    text += (text.empty() ? "\"" : " or \"") + std::string(type) + "\"";
  }
  return text;
}

std::string string_member(const Value& object, const char* key) {
  const Value* value = object.find(key);
  return value == nullptr || value->string() == nullptr ? "" : *value->string();
}

Result<std::string> read_string(const Value& object, const char* key) {
  const Value* value = object.find(key);
  const std::string field = std::string(".") + key;
  if (value == nullptr) return invalid_argument(field, "is missing");
  if (value->string() == nullptr) return invalid_argument(field, "must be a string");
  return *value->string();
}

Result<Value> read_json_part(const Value& part) {
  const Value* data = part.find("data");
  if (data == nullptr) return invalid_argument(".data", "is missing");
  const auto is_object = [](const Value& item) { return item.is_object(); };
  const bool good =
      data->is_object() || (data->is_array() && std::all_of(data->array()->begin(), data->array()->end(), is_object));
  if (!good) return invalid_argument(".data", "must be an object or an array of objects");
  return *data;
}

// An image's place: {"image": its name}, or null where it needs none.
Result<Value> read_image(const Value& part, const Pictures& pictures) {
  if (pictures.list == nullptr) return invalid_argument("", pictures.refusal);
  const Value* file = part.find("file_id");
  const Value* url = part.find("image_url");
  if (url == nullptr && file != nullptr && !file->is_null())
    return invalid_argument(".file_id",
                            "is of a file, and none are kept here; send the image as a data: URL in image_url");
  if (url == nullptr) return invalid_argument(".image_url", "is missing");
  if (url->string() == nullptr) return invalid_argument(".image_url", "must be a string");
  const Result<std::string> name = pictures.list->add(*url->string());
  if (!name.ok()) return in_parent(".image_url", name.error());
  if (name->empty()) return Value();
  return Value(Value::Object{{"image", Value(name.value())}});
}

// A text is a string, the place of a lone image is null; everything else a part can be is an object or an array.
Result<Value> read_part(const Value& part, const PartTypes& types, const Pictures& pictures) {
  if (!part.is_object()) return invalid_argument("", "must be an object with a type");
  const std::string type = string_member(part, "type");
  if (std::find(types.begin(), types.end(), type) == types.end()) {
    return invalid_argument(".type", "must be " + listed(types, pictures));
  }
  if (type == "input_image") return read_image(part, pictures);
  if (type == "input_json") return read_json_part(part);
  Result<std::string> text = read_string(part, type == "refusal" ? "refusal" : "text");
  if (!text.ok()) return text.error();
  if (type == "refusal") return Value(Value::Object{{"refusal", Value(std::move(text).value())}});
  return Value(std::move(text).value());
}

// Parts in order, texts that follow each other as lines of one.
Result<Value::Array> read_parts(const Value::Array& list, const PartTypes& types, const Pictures& pictures) {
  Value::Array parts;
  std::optional<std::string> text;  // that is not in `parts` yet, so that many short lines are never copied again
  for (std::size_t i = 0; i < list.size(); ++i) {
    Result<Value> part = read_part(list[i], types, pictures);
    if (!part.ok()) return in_parent(list_element("", i), part.error());
    if (part->is_null()) continue;
    if (part->is_string()) {
      if (text.has_value()) {
        text->append("\n").append(*part->string());
      } else {
        text = *part->string();
      }
      continue;
    }
    if (text.has_value()) parts.emplace_back(std::move(*text));
    text.reset();
    parts.push_back(std::move(part).value());
  }
  if (text.has_value()) parts.emplace_back(std::move(*text));
  return parts;
}

// A string, or a list of parts: then the only part, or all of them.
Result<Value> read_content(const Value& owner, const char* key, const PartTypes& types, const Pictures& pictures) {
  const Value* content = owner.find(key);
  const std::string field = std::string(".") + key;
  if (content == nullptr) return invalid_argument(field, "is missing");
  if (content->is_string()) return *content;
  if (!content->is_array()) return invalid_argument(field, "must be a string or an array of parts");
  Result<Value::Array> parts = read_parts(*content->array(), types, pictures);
  if (!parts.ok()) return in_parent(field, parts.error());
  if (parts->empty()) return Value("");
  return parts->size() == 1 ? std::move(parts->front()) : Value(std::move(parts).value());
}

Result<Value> read_message(const Value& item, const Pictures& pictures) {
  const std::string role = string_member(item, "role");
  const PartTypes* types = nullptr;
  if (role == "user") types = &user_parts();
  if (role == "system" || role == "developer") types = &instruction_parts();
  if (role == "assistant") types = &assistant_parts();
  if (types == nullptr) {
    return invalid_argument(".role", "must be \"user\", \"developer\", \"system\" or \"assistant\"");
  }
  Result<Value> content = read_content(item, "content", *types, pictures);
  if (!content.ok()) return content.error();
  return Value(Value::Object{{"role", Value(role)}, {"content", std::move(content).value()}});
}

// Calls that were made so far, one set for each kind, since an output belongs to a call of its own kind.
struct Calls {
  std::set<std::string> functions;
  std::set<std::string> custom_tools;
};

// A call's arguments are JSON in a string; as a value they read better. What is no JSON stays the text that it is.
Value arguments_value(const std::string& text) {
  Result<Value> parsed = parse_json(text);
  if (parsed.ok() && (parsed->is_object() || parsed->is_array())) return std::move(parsed).value();
  return Value(text);
}

Result<Value> read_call(const Value& item, const std::string& type, std::set<std::string>& calls) {
  Result<std::string> call_id = read_string(item, "call_id");
  if (!call_id.ok()) return call_id.error();
  Result<std::string> name = read_string(item, "name");
  if (!name.ok()) return name.error();
  const char* given = type == "function_call" ? "arguments" : "input";
  Result<std::string> arguments = read_string(item, given);
  if (!arguments.ok()) return arguments.error();
  calls.insert(call_id.value());
  return Value(Value::Object{{"type", Value(type)},
                             {"call_id", Value(std::move(call_id).value())},
                             {"name", Value(std::move(name).value())},
                             {given, arguments_value(arguments.value())}});
}

Result<Value> read_output(const Value& item, const std::string& type, const std::set<std::string>& calls,
                          const Pictures& pictures) {
  Result<std::string> call_id = read_string(item, "call_id");
  if (!call_id.ok()) return call_id.error();
  if (!calls.contains(call_id.value())) {
    const std::string call = type.substr(0, type.size() - std::string_view("_output").size());
    return invalid_argument(".call_id", "is of no " + call + " before it");
  }
  Result<Value> output = read_content(item, "output", output_parts(), pictures);
  if (!output.ok()) return output.error();
  return Value(Value::Object{
      {"type", Value(type)}, {"call_id", Value(std::move(call_id).value())}, {"output", std::move(output).value()}});
}

Result<Value> read_item(const Value& item, Calls& calls, const Pictures& pictures) {
  if (!item.is_object()) return invalid_argument("", "must be an object: a message, a call or an output");
  const Value* given = item.find("type");
  const std::string type = given == nullptr ? "message" : string_member(item, "type");
  if (type == "message") return read_message(item, pictures);
  if (type == "function_call") return read_call(item, type, calls.functions);
  if (type == "custom_tool_call") return read_call(item, type, calls.custom_tools);
  if (type == "function_call_output") return read_output(item, type, calls.functions, pictures);
  if (type == "custom_tool_call_output") return read_output(item, type, calls.custom_tools, pictures);
  return invalid_argument(".type",
                          "must be \"message\", \"function_call\", \"function_call_output\", \"custom_tool_call\" or "
                          "\"custom_tool_call_output\"");
}

// One user message with one image.
bool has_lone_image(const Value::Array& items) {
  if (items.size() != 1 || string_member(items.front(), "role") != "user") return false;
  const Value* content = items.front().find("content");
  if (content == nullptr || content->array() == nullptr) return false;
  return std::count_if(content->array()->begin(), content->array()->end(),
                       [](const Value& part) { return string_member(part, "type") == "input_image"; }) == 1;
}

}  // namespace

Result<Value> read_openai_input(const Value& input, ImageList* images) {
  if (input.is_string()) return input;
  if (!input.is_array()) return invalid_argument("", "must be a string or an array of items");
  if (images != nullptr) images->set_lone(has_lone_image(*input.array()));
  Calls calls;
  Value::Array items;
  items.reserve(input.array()->size());
  for (std::size_t i = 0; i < input.array()->size(); ++i) {
    Result<Value> item = read_item((*input.array())[i], calls, Pictures{.list = images});
    if (!item.ok()) return in_parent(list_element("", i), item.error());
    items.push_back(std::move(item).value());
  }
  if (items.empty()) return Value("");
  const Value* role = items.front().find("role");
  const bool one_user_message = items.size() == 1 && role != nullptr && *role->string() == "user";
  return one_user_message ? *items.front().find("content") : Value(std::move(items));
}

Result<std::string> read_openai_instructions(const Value& instructions, bool reads_images) {
  Pictures pictures;
  if (reads_images)
    pictures.refusal = "is an image; images stand in the input, where the instructions can speak of them";
  if (instructions.is_string()) {
    if (instructions.string()->empty()) return invalid_argument("", "must not be empty");
    return *instructions.string();
  }
  if (!instructions.is_array()) return invalid_argument("", "must be a string or an array of parts");
  const Result<Value::Array> parts = read_parts(*instructions.array(), user_parts(), pictures);
  if (!parts.ok()) return parts.error();
  std::string text;
  for (const Value& part : parts.value()) text += (text.empty() ? "" : "\n") + to_display_text(part);
  if (text.empty()) return invalid_argument("", "must not be empty");
  return text;
}

}  // namespace assay::server
