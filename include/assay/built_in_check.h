#pragma once
// The questions of the built-in check (docs/readouts.md) as requests, for whoever asks them again with other settings.

#include <cstddef>
#include <vector>

#include "assay/decision.h"

namespace assay {

struct BuiltInRow {
  DecisionRequest request;   // one question; readout and layout are the decider's own
  std::size_t expected = 0;  // the right option
};

// A few dozen tiny decisions, always the same and in the same order.
std::vector<BuiltInRow> built_in_rows();

}  // namespace assay
