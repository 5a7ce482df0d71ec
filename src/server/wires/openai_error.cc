// The one map from our codes to OpenAI's words.
#include "server/wires/openai_error.h"

#include <utility>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr std::size_t kShownNameBytesMax = 100;

// What came is too long: the whole body (413), or what one of its fields holds (400).
int status_of(const Error& error) {
  return error.code == ErrorCode::kTooLong && !error.field.empty() ? 400 : http_status(error.code);
}

const char* type_of(int status) {
  switch (status) {
    case 429:
      return "rate_limit_error";
    case 503:
      return "service_unavailable_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

// The fields whose length is counted in the model's tokens; any other has a limit of its own.
bool is_counted_in_tokens(const std::string& field) {
  const bool is_id = field.ends_with(".value") || field.ends_with(".label");
  return field.starts_with("input") || field.starts_with("messages") || (field.starts_with("questions") && !is_id);
}

const char* code_of(const Error& error, int status) {
  if (error.code == ErrorCode::kUnauthorized) return "invalid_api_key";
  if (error.code == ErrorCode::kNotFound && error.field == "model") return "model_not_found";
  if (error.code == ErrorCode::kTooLong && is_counted_in_tokens(error.field)) return "context_length_exceeded";
  if (status == 429 && error.code != ErrorCode::kTooBusy) return "rate_limit_exceeded";
  return error_name(error.code);
}

}  // namespace

WireRefusal openai_refusal(const Error& error) {
  const Error told = with_field_in_message(error);
  const int status = status_of(told);
  const Value param = told.field.empty() ? Value() : text_value(told.field);
  Value body(Value::Object{{"error", Value(Value::Object{{"message", text_value(told.message)},
                                                         {"type", Value(type_of(status))},
                                                         {"param", param},
                                                         {"code", Value(code_of(told, status))}})}});
  return WireRefusal{
      .status = status, .body = to_json_text(body), .code = told.code, .retry_after_seconds = told.retry_after_seconds};
}

std::string unauthorized_body(const std::string& message) {
  Value error(Value::Object{
      {"code", count_value(401)}, {"message", text_value(message)}, {"type", Value("authentication_error")}});
  return to_json_text(Value(Value::Object{{"error", std::move(error)}}));
}

Error unknown_openai_model(const std::string& name, const WireSettings& settings) {
  std::string message = "model `" + name.substr(0, kShownNameBytesMax) + "` does not exist here; this server has";
  std::string separator = " ";
  for (const std::string& known : settings.model_names) {
    message += separator + "`" + known + "`";
    separator = ", ";
  }
  return Error{ErrorCode::kNotFound, std::move(message), "model"};
}

Status check_openai_model(const Value& top, const WireSettings& settings, const std::string& also) {
  const Value* model = top.find("model");
  if (model == nullptr || model->is_null()) return {};
  if (model->string() == nullptr) return invalid_argument("model", "must be a string");
  // SageMaker's OpenAI address takes calls whose model is empty: the endpoint is the model.
  if (model->string()->empty() || settings.knows_model(*model->string()) || (!also.empty() && *model->string() == also))
    return {};
  return unknown_openai_model(*model->string(), settings);
}

Status check_body_bytes(const HttpRequest& request, const WireSettings& settings) {
  if (request.body.size() <= settings.body_bytes_max) return {};
  return Error{ErrorCode::kTooLong,
               "the body has " + std::to_string(request.body.size()) + " bytes; the limit is " +
                   std::to_string(settings.body_bytes_max),
               ""};
}

Error in_parent(const std::string& parent, Error error) {
  error.field.insert(0, parent);
  return error;
}

std::string list_element(const std::string& list, std::size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

Error with_field_in_message(Error error) {
  if (error.field.empty() || error.message.starts_with(error.field)) return error;
  // "input: The prompt has …", but "input is missing".
  const bool is_sentence = !error.message.empty() && error.message[0] >= 'A' && error.message[0] <= 'Z';
  error.message.insert(0, error.field + (is_sentence ? ": " : " "));
  return error;
}

Error renamed_field(Error error, const std::string& to) {
  if (!error.field.empty() && error.message.starts_with(error.field)) {
    error.message.replace(0, error.field.size(), to);
  }
  error.field = to;
  return error;
}

}  // namespace assay::server
