#include "server/wires/chat_decide.h"

#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "base/sha256.h"
#include "server/wires/chat_decide_choice.h"
#include "server/wires/chat_decide_messages.h"
#include "server/wires/chat_decide_reply.h"
#include "server/wires/openai_error.h"
#include "server/wires/wire_fields.h"
#include "server/wires/wire_images.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr std::size_t kTopLogprobsDefault = 20;
constexpr std::size_t kTopLogprobsMax = 1024;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t system_unix_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

bool is_true(const Value* value) { return value != nullptr && value->boolean() != nullptr && *value->boolean(); }

bool is_given(const Value* value) { return value != nullptr && !value->is_null(); }

Result<bool> read_flag(const Value& object, const char* key, const std::string& parent = "") {
  const Value* value = object.find(key);
  if (!is_given(value)) return false;
  if (value->boolean() == nullptr) return invalid_argument(parent + key, "must be true or false");
  return *value->boolean();
}

Result<std::optional<std::size_t>> read_count(const Value& top, const char* key, std::size_t max) {
  const Value* value = top.find(key);
  if (!is_given(value)) return std::optional<std::size_t>();
  std::size_t count = 0;
  const std::string digits = value->integer() == nullptr ? "" : value->integer()->digits;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || count > max) {
    return invalid_argument(key, "must be an integer from 0 to " + std::to_string(max));
  }
  return std::optional<std::size_t>(count);
}

// What cannot be had from a decision. Settings of sampling have no part in it and are ignored.
Status check_unsupported(const Value& top) {
  const Value* n = top.find("n");
  if (is_given(n) && (n->integer() == nullptr || n->integer()->digits != "1")) {
    return invalid_argument("n", "must be 1: a decision is always the same");
  }
  for (const char* key : {"tools", "functions"}) {
    const Value* tools = top.find(key);
    if (is_given(tools) && (tools->array() == nullptr || !tools->array()->empty())) {
      return invalid_argument(key, "cannot be called by a decision; leave it out, or list the tools' names as values");
    }
  }
  return {};
}

// How the reply is to look.
Status read_form(const Value& top, ChatReplyForm& form) {
  const Result<bool> logprobs = read_flag(top, "logprobs");
  if (!logprobs.ok()) return logprobs.error();
  const Result<std::optional<std::size_t>> count = read_count(top, "top_logprobs", kTopLogprobsMax);
  if (!count.ok()) return count.error();
  if (count->has_value() && !logprobs.value()) return invalid_argument("top_logprobs", "needs logprobs to be true");
  form.logprobs = logprobs.value();
  form.top_logprobs = count.value().value_or(kTopLogprobsDefault);
  const Value* options = top.find("stream_options");
  if (!is_given(options)) return {};
  if (!options->is_object()) return invalid_argument("stream_options", "must be an object");
  const Result<bool> usage = read_flag(*options, "include_usage", "stream_options.");
  if (!usage.ok()) return usage.error();
  form.include_usage = usage.value();
  return {};
}

std::string question_text(const ChatConversation& conversation, const ChatChoice& choice) {
  std::string text = conversation.instructions;
  if (!choice.description.empty()) text += (text.empty() ? "" : "\n\n") + choice.description;
  if (!text.empty()) return text;
  return choice.property.empty() ? "Which of these fits best?"
                                 : "Which value of \"" + choice.property + "\" fits best?";
}

Status read_fields(const Value& top, const WireHeaders& headers, DecisionRequest& request, QuestionFields& fields) {
  request.allowed_mass = false;  // it costs the whole vocabulary's logits, so it is told when asked for
  Status read = read_wire_headers(headers, request);
  if (read.ok()) read = check_one_timeout(top);
  if (!read.ok()) return read;
  for (const Value::Member& member : *top.object()) {
    std::optional<Status> field = read_request_field(member, request);
    if (!field.has_value()) field = read_question_field(member, fields);
    if (field.has_value() && !field->ok()) return *field;
  }
  return {};
}

Result<Question> read_question(const ChatConversation& conversation, const ChatChoice& choice,
                               const QuestionFields& fields, const WireSettings& settings) {
  Result<std::vector<Option>> options = options_of_values(choice.values);
  if (!options.ok()) return in_parent(choice.field, options.error());
  Question question{.id = "0", .text = question_text(conversation, choice), .options = std::move(options).value()};
  // With an option beside true and false it is no longer a question of yes or no.
  const bool yes_or_no = are_true_and_false(choice.values) && !fields.none_of_these.value_or(false);
  question.type = yes_or_no ? QuestionType::kYesNo : QuestionType::kChoice;
  const Status applied = apply_question_fields({}, fields, settings.options_max, question);
  if (!applied.ok()) return applied.error();
  return question;
}

struct ChatRequest {
  DecisionRequest request;
  ChatReplyForm form;
  bool stream = false;
};

Result<ChatRequest> read_chat(const Value& top, const WireHeaders& headers, const WireSettings& settings) {
  if (!top.is_object()) return invalid_argument("", "the body must be a JSON object with messages");
  const Value* wanted = top.find("x_decide");
  if (is_given(wanted) && wanted->boolean() == nullptr) return invalid_argument("x_decide", "must be true or false");
  if (!is_true(wanted)) {
    return invalid_argument("x_decide", "must be true: this server decides between values and generates no text");
  }
  ChatRequest chat;
  QuestionFields fields;
  Status read = read_fields(top, headers, chat.request, fields);
  if (read.ok()) read = check_openai_model(top, settings, "");
  if (read.ok()) read = check_unsupported(top);
  if (read.ok()) read = read_form(top, chat.form);
  if (!read.ok()) return read.error();
  const Result<bool> stream = read_flag(top, "stream");
  if (!stream.ok()) return stream.error();
  chat.stream = stream.value();
  const Value* messages = top.find("messages");
  if (messages == nullptr) return invalid_argument("messages", "is missing");
  ImageList images;
  Result<ChatConversation> conversation = read_chat_messages(*messages, settings.reads_images ? &images : nullptr);
  if (!conversation.ok()) return in_parent("messages", conversation.error());
  Result<ChatChoice> choice = read_chat_choice(top, settings);
  if (!choice.ok()) return choice.error();
  Result<Question> question = read_question(conversation.value(), choice.value(), fields, settings);
  if (!question.ok()) return question.error();
  for (std::size_t i = 0; i < choice->values.size(); ++i) chat.form.keys.push_back(question->options[i].id);
  chat.form.choice = std::move(choice).value();
  chat.form.explain = chat.request.explain;
  chat.form.hidden_state = chat.request.hidden_state;
  chat.request.state = std::move(conversation->state);
  chat.request.images = images.take();
  chat.request.questions.push_back(std::move(question).value());
  return chat;
}

// A decider's field in this wire's terms.
std::string field_in_body(const std::string& field, const std::string& choice_field) {
  if (field.starts_with("state") || field == "images") return "messages";
  if (field == "readout" || field == "layout" || field == "receipt" || field == "priority" || field == "hidden_state" ||
      field == "lesson" || field == "explain") {
    return "x_" + field;
  }
  if (!field.starts_with("questions[0]")) return field;
  if (field.ends_with(".text")) return "messages";
  if (field.ends_with(".min_confidence")) return "x_min_confidence";
  return field.ends_with(".permute") ? "x_permute" : choice_field;
}

}  // namespace

ChatDecideWire::ChatDecideWire(WireSettings settings, UnixClock unix_ns)
    : settings_(std::move(settings)), unix_ns_(unix_ns ? std::move(unix_ns) : UnixClock(system_unix_ns)) {}

bool ChatDecideWire::wants(const HttpRequest& request) {
  if (request.body.find("\"x_decide\"") == std::string::npos) return false;
  const Result<Value> top = parse_json(request.body);
  if (!top.ok()) return true;  // what cannot be read is refused in this wire's words
  const Value* wanted = top->find("x_decide");
  return is_given(wanted) && (wanted->boolean() == nullptr || *wanted->boolean());
}

std::variant<ParsedWire, WireRefusal> ChatDecideWire::parse(const HttpRequest& request) const {
  const Status fits = check_body_bytes(request, settings_);
  if (!fits.ok()) return openai_refusal(fits.error());
  const Result<Value> top = parse_json(request.body);
  if (!top.ok()) return openai_refusal(top.error());
  Result<ChatRequest> chat = read_chat(top.value(), wire_headers(request), settings_);
  if (!chat.ok()) return openai_refusal(chat.error());
  const std::int64_t now_ns = unix_ns_();
  ChatReplyForm form = std::move(chat->form);
  form.id = "chatcmpl-" + sha256_hex(std::to_string(now_ns) + request.body).substr(0, 32);
  form.created_unix_seconds = now_ns / kNsPerSecond;
  form.model_id = settings_.model_id();
  form.round_digits = settings_.round_digits;
  ParsedWire parsed;
  parsed.request = std::move(chat->request);
  parsed.in_wire_terms = [choice_field = form.choice.field](const Error& error) {
    if (error.field.starts_with("images[")) return image_error_in("messages", error);
    return renamed_field(error, field_in_body(error.field, choice_field));
  };
  if (chat->stream) parsed.content_type = "text/event-stream";
  parsed.write_reply = [form = std::move(form), stream = chat->stream](const DecisionReply& reply) {
    return stream ? chat_completion_stream(form, reply) : chat_completion(form, reply);
  };
  return parsed;
}

WireRefusal ChatDecideWire::refuse(const Error& error) const { return openai_refusal(error); }

}  // namespace assay::server
