#include "server/wires/chat_decide_messages.h"

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

Result<std::string> read_part(const Value& part) {
  const std::string type = text_of(part, "type");
  if (type == "image_url" || type == "input_audio" || type == "file") {
    return invalid_argument(".type", "is \"" + type + "\", and this model reads text only");
  }
  if (type != "text" && type != "refusal") return invalid_argument(".type", "must be \"text\"");
  const Value* text = part.find(type);
  if (text == nullptr || text->string() == nullptr) return invalid_argument("." + type, "must be a string");
  return *text->string();
}

// Text parts are lines of one text.
Result<std::string> read_content(const Value& content) {
  if (content.is_string()) return *content.string();
  if (!content.is_array()) return invalid_argument("", "must be a string or an array of text parts");
  std::string text;
  for (std::size_t i = 0; i < content.array()->size(); ++i) {
    const Result<std::string> part = read_part((*content.array())[i]);
    if (!part.ok()) return in_parent(list_element("", i), part.error());
    text += (i == 0 ? "" : "\n") + part.value();
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

Result<Value> read_message(const Value& message) {
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
    Result<std::string> text = read_content(*content);
    if (!text.ok()) return in_parent(".content", text.error());
    told.emplace_back("content", Value(std::move(text).value()));
  }
  if (has_calls) told.emplace_back("tool_calls", calls_value(*calls));
  if (const std::string id = text_of(message, "tool_call_id"); !id.empty())
    told.emplace_back("tool_call_id", Value(id));
  return Value(std::move(told));
}

}  // namespace

Result<ChatConversation> read_chat_messages(const Value& messages) {
  if (messages.array() == nullptr || messages.array()->empty()) {
    return invalid_argument("", "must be an array of messages that is not empty");
  }
  ChatConversation conversation;
  Value::Array told;
  for (std::size_t i = 0; i < messages.array()->size(); ++i) {
    Result<Value> message = read_message((*messages.array())[i]);
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
