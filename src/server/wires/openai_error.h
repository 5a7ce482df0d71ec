#pragma once
// Errors as OpenAI's SDKs read them, for every wire that is spoken by those SDKs.

#include <string>

#include "server/wires/wire_format.h"
#include "server/wires/wire_settings.h"

namespace assay::server {

// {"error": {"message", "type", "param", "code"}}. `param` is the error's field, or null, and the message begins with
// it. `code` is OpenAI's own name where there is one (invalid_api_key, model_not_found, context_length_exceeded,
// rate_limit_exceeded), else error_name(). The status is http_status(), but 400 where a field of the body is too long:
// OpenAI keeps 413 for the body itself.
WireRefusal openai_refusal(const Error& error);

// A missing or wrong key as llama-server says it: {"error": {"code": 401, "message", "type": "authentication_error"}}.
std::string unauthorized_body(const std::string& message);

// 404 model_not_found, with the names that there are.
Error unknown_openai_model(const std::string& name, const WireSettings& settings);

// Checks the body's `model`: absent, null, one of the settings' names, or `also` when that is not empty.
Status check_openai_model(const Value& top, const WireSettings& settings, const std::string& also);

// kTooLong for a body above the settings' limit.
Status check_body_bytes(const HttpRequest& request, const WireSettings& settings);

// An error with `parent` before its field: how readers of one level tell their callers where in the body they are.
Error in_parent(const std::string& parent, Error error);
// "list[index]".
std::string list_element(const std::string& list, std::size_t index);
// An error whose message says the field first.
Error with_field_in_message(Error error);

// A decider's error as a caller of these wires reads it: its field `from` becomes `to`, in the message too.
Error renamed_field(Error error, const std::string& to);

}  // namespace assay::server
