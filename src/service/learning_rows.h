#pragma once
// Labelled rows on their way through a decider: checked, asked many at a time, in the rows' order.

#include <functional>
#include <vector>

#include "assay/teaching.h"

namespace assay::service {

// The rows without those that stand twice with one label. Errors: kInvalidArgument, with the rows' `where`: a label
// that is no option, a state and question that stands with two labels, no rows.
struct CheckedRows {
  std::vector<LabelledQuestion> rows;
  std::size_t duplicates = 0;
};
Result<CheckedRows> check_rows(const std::vector<LabelledQuestion>& rows);

// Asks `count` requests, up to `at_once` at a time from as many threads; `request_of(i)` makes the i-th (called on any
// thread), `take(i, answer)` gets its first answer (called by one thread at a time, in no order). Stops at the first
// error, which gets `where(i)` in front.
Status ask_all(Decider& decider, std::size_t count, std::size_t at_once,
               const std::function<DecisionRequest(std::size_t)>& request_of,
               const std::function<std::string(std::size_t)>& where,
               const std::function<void(std::size_t, Answer)>& take, const char* step, const TeachProgress& progress);

}  // namespace assay::service
