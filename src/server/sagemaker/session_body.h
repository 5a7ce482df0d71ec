#pragma once
// What a session has to do with the bodies of its requests.

#include <optional>
#include <string>
#include <string_view>

#include "assay/error.h"
#include "assay/value.h"

namespace assay::server {

// A body that is about the session itself: {"requestType": "NEW_SESSION"} or {"requestType": "CLOSE"}. The first may
// have a "state", which the session then remembers.
struct SessionOrder {
  bool opens = false;  // false: closes
  Value state;         // null: none
};

// Nothing for a body without requestType (so is one that is no JSON object; its wire will say so). kInvalidArgument for
// another type, or for a key that does not belong there.
Result<std::optional<SessionOrder>> session_order(std::string_view body);

// The state that a body is about: that of the body, of its decision, or of the first of its decisions; null where there
// is none.
Value state_of_body(std::string_view body);

// The body with `state` put in where it has none: at the top of a body with questions, into its decision, into each of
// its decisions. Everything else is as it came, keys and digits too; a body that is no JSON, or that needs nothing, is
// given back as it is.
std::string with_state(std::string_view body, const Value& state);

}  // namespace assay::server
