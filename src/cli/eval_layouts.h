#pragma once
// The same rows under both layouts, side by side: what the faster one costs.

#include <cstddef>
#include <string>

#include "assay/value.h"
#include "cli/eval_result.h"

namespace assay::cli {

// REQUIRES of all three: both hold the same rows in the same order.
struct LayoutResults {
  EvalResult state_first;
  EvalResult question_first;
};

// How the answers to single rows differ. A refused row has no answer and is not right.
struct LayoutChanges {
  std::size_t other_answer = 0;               // rows whose answers differ
  std::size_t only_state_first_right = 0;     // of those
  std::size_t only_question_first_right = 0;  // of those
};
LayoutChanges layout_changes(const LayoutResults& results);

// {state_first: eval_value(), question_first: eval_value(), other_answer, only_state_first_right, ...}
Value layouts_value(const LayoutResults& results);
// A line for each layout and one for their difference, then how many answers changed.
std::string layouts_text(const LayoutResults& results);

}  // namespace assay::cli
