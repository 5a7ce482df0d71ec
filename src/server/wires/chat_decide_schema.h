#pragma once
// JSON Schema, as far as it lists values.

#include <string>

#include "server/wires/chat_decide_choice.h"

namespace assay::server {

// Reads a schema into a choice's values, content, property and description. The error's field is below the schema.
Result<ChatChoice> read_choice_schema(const Value& schema);

}  // namespace assay::server
