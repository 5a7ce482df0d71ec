#pragma once
// System One's error bodies. Every one has `detail` in TypeSafe's form (a list for a body that breaks the rules, a text
// for a path or method that there is none of, an object for all else) and beside it `error` with the HTTP status and
// one text, which is what OpenRouter's clients read. `x_code` is our own name for the error.

#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"
#include "assay/value.h"
#include "server/wires/wire_format.h"

namespace assay::server {

// One thing that is wrong with a body: where ("body", "questions", the id, …), what, and pydantic's name for it.
struct SystemOneFault {
  Value::Array loc;
  std::string msg;
  std::string type;
};

// A path as a `loc`, and a part of one: texts from outside are cut, so that an error is never long.
Value loc_part(std::string_view text);
// The path with dots, "body" left out: "questions.q1.criteria".
std::string loc_text(const Value::Array& loc);

// 422 with the list. REQUIRES: a fault.
WireRefusal system_one_faults(const std::vector<SystemOneFault>& faults);
// 400 for what is well-formed and cannot be served (a model's name, a size above the limit), 413 for what is too long,
// and the like for all other codes. kInvalidArgument with a field is a fault: 422; its field is a `loc` as JSON text,
// or any other path.
WireRefusal system_one_refusal(const Error& error);
// The same with a status of HTTP's own, such as 408 or 431, which no code stands for.
WireRefusal system_one_refusal(const Error& error, int status);
// 400 with error_type "api_usage_error".
WireRefusal system_one_usage_error(const std::string& message);

// 404 and 405 of any path that has no wire of its own: `detail` is a text, and `code` is there as on SemIf's routes.
std::string no_such_path_body(const std::string& message);
std::string no_such_method_body(const std::string& message);

}  // namespace assay::server
