#pragma once
// What the check at load says about a model: how often it is right, whether guessing explains that, and which readout
// it should use (docs/readouts.md).

#include <cstddef>
#include <span>
#include <vector>

#include "assay/decider.h"
#include "assay/decision.h"

namespace assay::decision {

// A type is reliable when guessing would do at least as well with a chance below this. One in a hundred, because
// three types are tested under each readout: a model that only guesses passes one of its three with 3 % at most. For
// 16 yes/no rows it asks for 14 right.
inline constexpr double kGuessingChanceMax = 0.01;

// The chance of at least `right` successes in independent rows, where row i succeeds with chances[i]. Exact up to
// rounding. 1 when right <= 0, 0 when there are fewer rows. REQUIRES: chances in [0, 1].
double chance_tail(std::span<const double> chances, int right);

// Scores the picks of one readout: picked[i] is the option chosen for self_check_rows()[i]. One score for each
// question type, in the order choice, yes/no, scale. REQUIRES: as many picks as rows.
std::vector<CheckScore> score_check(Readout readout, std::span<const std::size_t> picked);

struct ReadoutChoice {
  Readout readout = Readout::kLetters;
  std::vector<CheckScore> scores;  // of both: letters first, then text
};
// The readout with more right answers over all types; ties go to letters.
ReadoutChoice choose_readout(std::span<const CheckScore> letters, std::span<const CheckScore> text);

// What the scores say about this type under this readout; kUnknown when they say nothing.
Reliability reliability_of(std::span<const CheckScore> scores, Readout readout, QuestionType type);

}  // namespace assay::decision
