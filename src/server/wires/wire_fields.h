#pragma once
// The fields that all wires have beside their own: those that begin with x_, the timeout, and the headers that say the
// same. docs/http.md lists them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "assay/decision.h"
#include "server/http/http_message.h"

namespace assay::server {

// The longest deadline that a request may name: an hour.
inline constexpr double kTimeoutMsMax = 3'600'000;
// The option that x_none_of_these adds, and what it says unless the caller has words of its own.
inline constexpr const char* kNoneOfTheseId = "none_of_these";
inline constexpr const char* kNoneOfTheseText = "None of these";

// What a request may say in its headers instead of its body, as the texts that came. The body's field wins, but a text
// that is no good is refused all the same.
struct WireHeaders {
  std::optional<std::string> timeout_ms;  // x-timeout-ms: a decimal number
  std::optional<std::string> priority;    // x-priority
};
WireHeaders wire_headers(const HttpRequest& request);
// To be called before the body's fields are read. The error's field is the header's name.
Status read_wire_headers(const WireHeaders& headers, DecisionRequest& request);

// Reads one member of a body's top level where it says how to decide: x_readout, x_layout, x_explain, x_hidden_state,
// x_receipt, x_allowed_mass, x_calibrated, x_lesson, x_priority, timeout_ms and x_timeout_ms. Nothing when the key is
// none of them. The error's field is the key and its message goes on behind it ("must be true or false").
std::optional<Status> read_request_field(const Value::Member& member, DecisionRequest& request);
// timeout_ms and x_timeout_ms are one thing; an error when `top` has both.
Status check_one_timeout(const Value& top);

// What a body asks of one question, or at its top of all of them.
struct QuestionFields {
  std::optional<double> min_confidence;  // x_min_confidence: 0..1
  std::optional<std::int32_t> permute;   // x_permute: at least 1
  std::optional<bool> none_of_these;     // x_none_of_these: true, false, or the option's words
  std::string none_of_these_text = kNoneOfTheseText;
};
// As read_request_field(), for x_min_confidence, x_permute and x_none_of_these. A field of read_request_field() is an
// error here.
std::optional<Status> read_question_field(const Value::Member& member, QuestionFields& fields);

// Writes what was asked for into a question whose type and options are complete: its own fields, and where it has none
// those of all. What is asked of all touches a question only as far as it can: x_none_of_these the choices, x_permute
// no more orders than the question has options. Errors have the key as their field: the question is no choice, has an
// option of that id or more than options_max options with it, or fewer options than its own x_permute.
Status apply_question_fields(const QuestionFields& all, const QuestionFields& own, std::size_t options_max,
                             Question& question);

}  // namespace assay::server
