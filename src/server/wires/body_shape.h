#pragma once
// Which wire a body is written for, on the paths that serve several.

#include <string_view>

namespace assay::server {

// The keys at a body's top that tell the wires apart.
struct BodyShape {
  bool state = false;
  bool input = false;
  bool messages = false;
  bool questions_object = false;
  bool questions_list = false;
  bool decisions = false;  // decision or decisions
  bool prompt = false;
  bool documents = false;
  bool input_messages = false;  // input is a list whose first element is an object
  bool response_keys = false;   // a key that only OpenAI's Responses have beside an input
  bool request_type = false;    // requestType: a session is opened or closed
};

// Looks at the keys alone, in one pass and without building anything: the wire that is chosen reads the body properly
// and says what is wrong with it. For text that is no JSON object the answer is what was seen up to where it stops
// being one. A key that is written with escapes is not recognised.
BodyShape shape_of_body(std::string_view body);

}  // namespace assay::server
