#pragma once
// What chance makes of a calibration error: with few rows it is not 0, however true the probabilities are.

#include <cstddef>
#include <cstdint>
#include <span>

#include "assay/evaluation.h"

namespace assay::teach {

// The expected_calibration_error() that a perfectly calibrated answerer with these confidences would show: labels are
// drawn anew, each answer right with the probability that it says (consistency resampling, Bröcker and Smith, Weather
// and Forecasting 22, 2007, with the answers held), and the error is taken of each draw. The mean of all draws, and the
// limits between which nine of ten lie. All 0 for no outcomes. The same outcomes, seed and draws give the same bits.
// REQUIRES: draws > 0. O(draws * outcomes): 1,000 draws of 1,000 outcomes take about 20 ms.
CalibrationFloor calibration_floor(std::span<const Outcome> outcomes, std::uint64_t seed, std::size_t draws = 1000);

}  // namespace assay::teach
