#include "server/wires/systemone_error.h"

#include <utility>

#include "base/assert.h"
#include "base/utf8.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr std::size_t kLocPartBytesMax = 200;

// What TypeSafe's clients find under detail.error_type.
const char* error_type(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnauthorized:
      return "authentication_error";
    case ErrorCode::kTooLong:
      return "tokens_exceeded";
    case ErrorCode::kTooBusy:
      return "rate_limit_exceeded";
    case ErrorCode::kOverloaded:
    case ErrorCode::kUnavailable:
      return "overloaded";
    case ErrorCode::kDeadline:
      return "timeout";
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kMediaType:
      return "api_usage_error";
    default:
      return "unknown";
  }
}

std::string body_of(Value detail, int status, const std::string& message, const char* name_key, ErrorCode code) {
  Value::Object body = {
      {"detail", std::move(detail)},
      {"error", Value(Value::Object{{"code", count_value(status)}, {"message", text_value(message)}})},
      {name_key, Value(error_name(code))}};
  if (code == ErrorCode::kOverloaded || code == ErrorCode::kTooBusy || code == ErrorCode::kUnavailable) {
    body.emplace_back("x_retryable", Value(true));
  }
  return to_json_text(Value(std::move(body)));
}

// A loc that was written as JSON text, or a path of any other form as one part behind "body".
Value::Array loc_of(const std::string& field) {
  if (field.starts_with('[')) {
    const Result<Value> read = parse_json(field);
    if (read.ok() && read->array() != nullptr) return *read->array();
  }
  return {Value("body"), loc_part(field)};
}

}  // namespace

Value loc_part(std::string_view text) {
  std::string_view shown = text.substr(0, kLocPartBytesMax);
  // Where the cut left a part of a character, that part goes too.
  if (const auto bad = first_invalid_utf8(shown); bad.has_value()) shown = shown.substr(0, *bad);
  return text_value(shown);
}

std::string loc_text(const Value::Array& loc) {
  std::string text;
  for (const Value& part : loc) {
    if (text.empty() && part.string() != nullptr && *part.string() == "body") continue;
    if (!text.empty()) text += '.';
    text += to_display_text(part);
  }
  return text;
}

WireRefusal system_one_faults(const std::vector<SystemOneFault>& faults) {
  ASSAY_ASSERT(!faults.empty());
  constexpr int kStatus = 422;
  Value::Array detail;
  for (const SystemOneFault& fault : faults) {
    detail.emplace_back(
        Value::Object{{"loc", Value(fault.loc)}, {"msg", text_value(fault.msg)}, {"type", text_value(fault.type)}});
  }
  const SystemOneFault& first = faults.front();
  const std::string where = loc_text(first.loc);
  std::string message = where.empty() ? first.msg : where + ": " + first.msg;
  if (faults.size() > 1) message += " (and " + std::to_string(faults.size() - 1) + " more, see detail)";
  return {.status = kStatus,
          .body = body_of(Value(std::move(detail)), kStatus, message, "x_code", ErrorCode::kInvalidArgument),
          .code = ErrorCode::kInvalidArgument};
}

WireRefusal system_one_refusal(const Error& error) {
  if (error.code == ErrorCode::kInvalidArgument && !error.field.empty()) {
    return system_one_faults({{.loc = loc_of(error.field), .msg = error.message, .type = "value_error"}});
  }
  return system_one_refusal(error, http_status(error.code));
}

WireRefusal system_one_refusal(const Error& error, int status) {
  Value::Object detail = {{"error_type", Value(error_type(error.code))}, {"message", text_value(error.message)}};
  return {.status = status,
          .body = body_of(Value(std::move(detail)), status, error.message, "x_code", error.code),
          .code = error.code,
          .retry_after_seconds = error.retry_after_seconds};
}

WireRefusal system_one_usage_error(const std::string& message) {
  return system_one_refusal(invalid_argument("", message));
}

std::string no_such_path_body(const std::string& message) {
  return body_of(Value("Not Found"), 404, message, "code", ErrorCode::kNotFound);
}

std::string no_such_method_body(const std::string& message) {
  return body_of(Value("Method Not Allowed"), 405, message, "code", ErrorCode::kInvalidArgument);
}

}  // namespace assay::server
