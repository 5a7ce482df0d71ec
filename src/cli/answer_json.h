#pragma once
// Answers as JSON values, in the field names that `assay decide` and `assay score` print.

#include "assay/decision.h"
#include "assay/value.h"
#include "cli/rows.h"

namespace assay::cli {

// {id, choice, probabilities: {id: p, ...}, readout, layout, calibrated, reliability}, with allowed_mass where it
// was measured, and expected and correct when the row says what is right. `id` is left out when the row has none.
Value::Object score_members(const Row& row, const Answer& answer);

// The above with the prompt's hash and length; `explain` adds the prompt, its tokens and each option's tokens.
Value::Object decide_members(const Row& row, const Answer& answer, bool explain);

// {input_tokens, computed_rows, queue_ms, compute_ms}
Value timing_value(const DecisionReply& reply);

// {code, message, field}; field only when there is one.
Value error_value(const Error& error);

}  // namespace assay::cli
