#pragma once
// Labelled answers, and what they add up to.

#include <optional>
#include <string>
#include <vector>

#include "assay/evaluation.h"
#include "cli/rows.h"

namespace assay::cli {

// One answered row whose right answer is known.
struct Labelled {
  Outcome outcome;
  std::string expected;   // the option's id
  std::string predicted;  // the option's id
};

// Nothing when the row has no `expected`.
std::optional<Labelled> labelled(const Row& row, const Answer& answer);

std::vector<Outcome> outcomes_of(const std::vector<Labelled>& rows);

// Accuracy, expected calibration error and which ids were taken for which: a matrix for up to eight ids, else the ten
// most frequent confusions. Empty for no rows.
std::string labelled_summary(const std::vector<Labelled>& rows);

}  // namespace assay::cli
