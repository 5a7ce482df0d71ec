#pragma once
// What each layout costs in right answers and in time, on the questions of the built-in check.

#include <string>
#include <vector>

#include "assay/decider.h"

namespace assay::cli {

struct LayoutScore {
  Layout layout = Layout::kStateFirst;
  int right = 0;
  int rows = 0;
  double p50_ms = 0;  // of a row, waiting included
};

// Asks all rows in both layouts, state first before question first, under the readout that `auto` means. Errors: those
// of Decider::decide.
Result<std::vector<LayoutScore>> score_layouts(Decider& decider);

// [{"layout", "right", "rows", "p50_ms"}, ...]
Value layout_scores_value(const std::vector<LayoutScore>& scores);
// A table; the empty text for no scores.
std::string layout_scores_text(const std::vector<LayoutScore>& scores);

}  // namespace assay::cli
