#include "teach/calibration_floor.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "teach/folds.h"

namespace assay::teach {
namespace {

// In [0, 1).
double uniform(Random& random) { return static_cast<double>(random.next() >> 11U) * 0x1p-53; }

}  // namespace

CalibrationFloor calibration_floor(std::span<const Outcome> outcomes, std::uint64_t seed, std::size_t draws) {
  ASSAY_ASSERT(draws > 0);
  if (outcomes.empty()) return {};
  // Two options are enough: the answer given, and all others.
  std::vector<Outcome> drawn;
  for (const Outcome& outcome : outcomes) {
    const double confidence = outcome.probabilities[outcome.predicted];
    drawn.push_back({.probabilities = {confidence, 1 - confidence}, .expected = 0, .predicted = 0});
  }
  Random random(seed);
  std::vector<double> errors;
  double sum = 0;
  for (std::size_t draw = 0; draw < draws; draw++) {
    for (Outcome& outcome : drawn) outcome.expected = uniform(random) < outcome.probabilities[0] ? 0 : 1;
    errors.push_back(expected_calibration_error(drawn));
    sum += errors.back();
  }
  return {.mean = sum / static_cast<double>(draws), .low = percentile(errors, 0.05), .high = percentile(errors, 0.95)};
}

}  // namespace assay::teach
