#pragma once
// SemIf's JSON, the body of POST /v1/decide and POST /invocations, to a DecisionRequest.
//
//   {"decision": {"id": "t1", "state": "My card was charged twice.", "question": "What does the customer want?",
//                 "options": [{"id": "refund", "description": "Wants money back"}, {"id": "info"}]}}
//
// or {"decisions": [ ... ]}: several questions on one state. docs/http.md has every field.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "assay/decision.h"
#include "server/wires/wire_fields.h"

namespace assay::server {

// What one body may hold. SemIf's own limits are 256 KiB, 2..16 options and 8 decisions.
struct WireOptions {
  std::size_t body_bytes_max = 25u * 1024 * 1024;  // longer bodies are refused unparsed
  std::size_t options_min = 1;                     // of one decision; 2 behaves as SemIf
  std::size_t options_max = 1024;
  std::size_t questions_max = 256;  // entries of `decisions`
};

struct WireRequest {
  DecisionRequest request;
  bool single = true;  // the body had `decision`; false: `decisions`
};

// Reads a body. Everything that needs no model is checked here: exactly one of `decision` and `decisions`; no other
// top-level key but `timeout_ms` and those that begin with x_ (those of wire_fields.h are understood, others ignored);
// a timeout above 0 and at most kTimeoutMsMax; `id` and `question` non-empty strings; `state` a non-empty string,
// object or array, the same in all decisions; options with unique, non-empty string ids and a string, null or no
// description. Unknown fields inside a decision are ignored. `type` may say choice, yes_no or scale; without it the
// option ids decide: two that say yes and no or true and false in any case make yes_no, "0", "1", … "k-1" with k >= 3
// make scale, all else is choice. `client` and `cancelled` stay empty: no body can set them. Errors: kInvalidArgument,
// or kTooLong above a limit; field is the path, such as "decisions[1].options[2].id", or the header's name, and the
// message begins with it.
Result<WireRequest> parse_semif_request(std::string_view body, const WireOptions& options,
                                        const WireHeaders& headers = {});

// The type of a question that names none, by its option ids, as said above. The command line reads rows by the same
// rule.
QuestionType implied_question_type(const std::vector<Option>& options);

// A decider's error in this wire's terms: a field "questions[1].options[2].id" becomes "decisions[1].options[2].id",
// or "decision.options[2].id" for a `single` decision; "state", "questions[0].text" and the settings' names are
// translated alike.
Error semif_error(bool single, Error error);

// The HTTP status of an error on this wire: 400 for too long, as SemIf answers; http_status() for the rest.
int semif_status(ErrorCode code);

}  // namespace assay::server
