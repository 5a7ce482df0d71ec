#pragma once
// What a body of POST /v1/decisions tells and asks, as Values: the input and a question's instructions.

#include <string>

#include "assay/error.h"
#include "assay/value.h"
#include "server/wires/wire_images.h"

namespace assay::server {

// `input` as a state. A string stays one. Of one user message it is the content: a text, the data of one JSON part, or
// an array of both. Anything longer is an array of objects in the caller's order: {"role", "content"} for a message,
// {"type", "call_id", "name", "arguments"} for a call, {"type", "call_id", "output"} for what came of it. No items: "".
// Text parts that stand together are lines of one text. An output must have an earlier call of its own kind with its
// call_id. The error's field is below `input`: "[2].content[0].type". Without `images` an image is refused.
// With `images` they are taken, each where it stands as {"image": its name} (wire_images.h); the one image of a lone
// user message has no name and leaves no trace in the state.
Result<Value> read_openai_input(const Value& input, ImageList* images = nullptr);

// `instructions` as text: a string, or text and JSON parts as lines of one. Images are refused, in other words where
// the model `reads_images`. The error's field is below `instructions`.
Result<std::string> read_openai_instructions(const Value& instructions, bool reads_images = false);

}  // namespace assay::server
