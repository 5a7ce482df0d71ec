#pragma once
// A conversation as a decision: what the system said is the question, what was said after is the state.

#include <string>

#include "assay/error.h"
#include "assay/value.h"
#include "server/wires/wire_images.h"

namespace assay::server {

struct ChatConversation {
  // One user message alone: its text. Otherwise an array of {"role", "content"} objects in order, with "name",
  // "tool_calls" ([{"name", "arguments"}]) and "tool_call_id" where they were given. No message: "".
  Value state;
  std::string instructions;  // of system and developer messages, with a blank line between; may be empty
};

// Reads `messages`: a list that is not empty, of roles system, developer, user, assistant, tool and function. Content
// is a text or text parts; an assistant's may be missing where it called tools. Sound and files are refused, and images
// where `images` is missing; with it their place in the text is "[image 1]" and so on (wire_images.h), and the one
// image of a lone user message leaves no trace there. The error's field is below `messages`.
Result<ChatConversation> read_chat_messages(const Value& messages, ImageList* images = nullptr);

}  // namespace assay::server
