#pragma once
// System One's JSON, the body of POST /v1/systemone, to a DecisionRequest.
//
//   {"model": "jev-latest", "state": "My card was charged twice.",
//    "questions": {"refund": {"type": "noul", "instructions": "Does the customer want money back?"}}}
//
// docs/http.md has every field. The rules are those of TypeSafe's published contract, read so that every request that
// an official client can send is accepted.

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assay/decision.h"
#include "server/wires/wire_fields.h"
#include "server/wires/wire_format.h"
#include "server/wires/wire_settings.h"

namespace assay::server {

// The questions of ours for those who gave none (`instructions` absent, null or empty).
inline constexpr const char* kNoulInstructions = "Is the answer yes?";
inline constexpr const char* kChoiceInstructions = "Which option fits best?";
inline constexpr const char* kScoreInstructions = "Which level fits best?";
// What a model is shown for an option whose name is the empty text and that has no description.
inline constexpr const char* kEmptyName = "(no name)";

// What of a question its answer needs. kYesNo is a noul, kScale a score.
struct SystemOneQuestion {
  std::string id;
  QuestionType type = QuestionType::kChoice;
  std::vector<std::string> names;  // choice: the options', as the caller wrote them
  Value::Array levels;             // score: the criteria, as the caller wrote them
  bool wants_confidence = false;   // has an x_min_confidence
};

struct SystemOneEcho {
  std::vector<SystemOneQuestion> questions;  // in the request's order
  bool explain = false;
  bool hidden_state = false;
  std::vector<Value::Array> image_locs;  // of the request's images, in their order
};

struct SystemOneRequest {
  // Questions are named "q0", "q1", … there, whatever the caller calls them. Option ids are the caller's names, or
  // "o0", "o1", … where one of a question's names is no id (empty, or very long); "true" and "false" for a noul, in
  // this order; "0", "1", … for a score. `client`, `cancelled` and `on_answer` stay empty.
  DecisionRequest request;
  SystemOneEcho echo;
};

// Reads a body. 422 with all its faults for a body that breaks the rules; 400 for an unknown model, too many questions,
// options or levels, and for boxes, which no model here gives, and images that cannot be read; 413 for more bytes than
// settings allow.
std::variant<SystemOneRequest, WireRefusal> parse_system_one(std::string_view body, const WireSettings& settings,
                                                             const WireHeaders& headers);

}  // namespace assay::server
