#include "server/wires/chat_decide_messages.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "server/wires/openai_error.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

std::string text_of(const Value& object, const char* key) {
  const Value* value = object.find(key);
  return value == nullptr || value->string() == nullptr ? "" : *value->string();
}

// Where an image stands in a text: its name, or nothing for a lone one.
Result<std::string> read_image(const Value& part, ImageList& images) {
  const Value* given = part.find("image_url");
  if (given == nullptr) return invalid_argument(".image_url", "is missing");
  const Value* url = given->is_object() ? given->find("url") : given;
  const std::string field = given->is_object() ? ".image_url.url" : ".image_url";
  if (url == nullptr || url->string() == nullptr) return invalid_argument(field, "must be a string");
  const Result<std::string> name = images.add(*url->string());
  if (!name.ok()) return in_parent(field, name.error());
  return name->empty() ? std::string() : "[" + name.value() + "]";
}

Result<std::string> read_part(const Value& part, ImageList* images, bool is_system) {
  const std::string type = text_of(part, "type");
  if (type == "image_url" && images != nullptr) {
    if (!is_system) return read_image(part, *images);
    return invalid_argument(".type",
                            "is \"image_url\", and what the system says is the question, which has none; images "
                            "stand in the user's messages");
  }
  if (type == "image_url" || type == "input_audio" || type == "file") {
    return invalid_argument(".type", "is \"" + type + "\", and this model reads text only");
  }
  if (type != "text" && type != "refusal") return invalid_argument(".type", "must be \"text\"");
  const Value* text = part.find(type);
  if (text == nullptr || text->string() == nullptr) return invalid_argument("." + type, "must be a string");
  return *text->string();
}

// Text parts are lines of one text; a lone image is none.
Result<std::string> read_content(const Value& content, ImageList* images, bool is_system) {
  if (content.is_string()) return *content.string();
  if (!content.is_array()) return invalid_argument("", "must be a string or an array of text parts");
  std::string text;
  bool is_first = true;
  for (std::size_t i = 0; i < content.array()->size(); ++i) {
    const Value& given = (*content.array())[i];
    const Result<std::string> part = read_part(given, images, is_system);
    if (!part.ok()) return in_parent(list_element("", i), part.error());
    if (part->empty() && text_of(given, "type") == "image_url") continue;
    text += (is_first ? "" : "\n") + part.value();
    is_first = false;
  }
  return text;
}

// Calls as values: arguments are JSON in a string, and read better without its quotes.
Value calls_value(const Value& calls) {
  Value::Array list;
  for (const Value& call : *calls.array()) {
    const Value* function = call.find("function");
    if (function == nullptr) function = call.find("custom");
    const Value& called = function == nullptr ? call : *function;
    const std::string given = called.find("arguments") == nullptr ? "input" : "arguments";
    const std::string text = text_of(called, given.c_str());
    Result<Value> parsed = parse_json(text);
    const bool is_value = parsed.ok() && (parsed->is_object() || parsed->is_array());
    list.emplace_back(Value::Object{{"name", Value(text_of(called, "name"))},
                                    {given, is_value ? std::move(parsed).value() : Value(text)}});
  }
  return Value(std::move(list));
}

bool is_role(const std::string& role) {
  constexpr std::array<std::string_view, 6> kRoles = {"system", "developer", "user", "assistant", "tool", "function"};
  for (const std::string_view known : kRoles) {
    if (role == known) return true;
  }
  return false;
}

bool is_instruction(const Value& message) {
  const std::string role = text_of(message, "role");
  return role == "system" || role == "developer";
}

Result<Value> read_message(const Value& message, ImageList* images) {
  if (!message.is_object()) return invalid_argument("", "must be an object with role and content");
  const std::string role = text_of(message, "role");
  if (!is_role(role)) {
    return invalid_argument(".role",
                            "must be \"system\", \"developer\", \"user\", \"assistant\", \"tool\" or \"function\"");
  }
  Value::Object told = {{"role", Value(role)}};
  if (const std::string name = text_of(message, "name"); !name.empty()) told.emplace_back("name", Value(name));
  const Value* calls = message.find("tool_calls");
  const bool has_calls = calls != nullptr && calls->array() != nullptr && !calls->array()->empty();
  const Value* content = message.find("content");
  if (content == nullptr || content->is_null()) {
    const std::string refusal = text_of(message, "refusal");
    if (!has_calls && refusal.empty()) return invalid_argument(".content", "is missing");
    if (!refusal.empty()) told.emplace_back("content", Value(refusal));
  } else {
    Result<std::string> text = read_content(*content, images, is_instruction(message));
    if (!text.ok()) return in_parent(".content", text.error());
    told.emplace_back("content", Value(std::move(text).value()));
  }
  if (has_calls) told.emplace_back("tool_calls", calls_value(*calls));
  if (const std::string id = text_of(message, "tool_call_id"); !id.empty())
    told.emplace_back("tool_call_id", Value(id));
  return Value(std::move(told));
}

// One message beside the system's, the user's, with one image.
bool has_lone_image(const Value::Array& messages) {
  std::size_t told = 0;
  std::ptrdiff_t images = 0;
  for (const Value& message : messages) {
    if (is_instruction(message)) continue;
    if (++told > 1 || text_of(message, "role") != "user") return false;
    const Value* content = message.find("content");
    if (content == nullptr || content->array() == nullptr) return false;
    images = std::count_if(content->array()->begin(), content->array()->end(),
                           [](const Value& part) { return text_of(part, "type") == "image_url"; });
  }
  return images == 1;
}

}  // namespace

Result<ChatConversation> read_chat_messages(const Value& messages, ImageList* images) {
  if (messages.array() == nullptr || messages.array()->empty()) {
    return invalid_argument("", "must be an array of messages that is not empty");
  }
  if (images != nullptr) images->set_lone(has_lone_image(*messages.array()));
  ChatConversation conversation;
  Value::Array told;
  for (std::size_t i = 0; i < messages.array()->size(); ++i) {
    Result<Value> message = read_message((*messages.array())[i], images);
    if (!message.ok()) return in_parent(list_element("", i), message.error());
    if (!is_instruction(message.value())) {
      told.push_back(std::move(message).value());
      continue;
    }
    const std::string text = text_of(message.value(), "content");
    if (text.empty()) continue;
    conversation.instructions += (conversation.instructions.empty() ? "" : "\n\n") + text;
  }
  const bool one_user_message = told.size() == 1 && text_of(told.front(), "role") == "user";
  if (told.empty()) {
    conversation.state = Value("");
  } else if (one_user_message) {
    conversation.state = Value(text_of(told.front(), "content"));
  } else {
    conversation.state = Value(std::move(told));
  }
  return conversation;
}

}  // namespace assay::server
