#include "teach/lift.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "teach/apply.h"

namespace assay::teach {
namespace {

constexpr std::size_t kRowsFew = 4;
constexpr double kShiftMax = 20;
constexpr int kHalvings = 60;

double raised_share(double share, double shift) {
  if (share <= 0 || share >= 1) return share;
  return 1 / (1 + std::exp(-(std::log(share / (1 - share)) + shift)));
}

double mean_confidence(std::span<const Outcome> outcomes, double shift) {
  double sum = 0;
  for (const Outcome& outcome : outcomes) sum += raised_share(outcome.probabilities[outcome.predicted], shift);
  return sum / static_cast<double>(outcomes.size());
}

}  // namespace

Lift lift_of(std::span<const Outcome> left_out, std::span<const std::size_t> rows_of_expected) {
  ASSAY_ASSERT(left_out.size() == rows_of_expected.size());
  if (left_out.empty()) return {};
  double wrong = 0;
  for (std::size_t i = 0; i < left_out.size(); i++) {
    if (left_out[i].predicted == left_out[i].expected) continue;
    const std::size_t rows = rows_of_expected[i];
    wrong += rows > kRowsFew ? 1 : std::sqrt(1 - 1 / static_cast<double>(rows));
  }
  Lift out{.accuracy_left_out = accuracy(left_out), .accuracy = 1 - wrong / static_cast<double>(left_out.size())};
  if (!(out.accuracy > out.accuracy_left_out)) return out;
  const double left_wrong = (1 - out.accuracy) / (1 - out.accuracy_left_out);
  const double wanted = 1 - (1 - mean_confidence(left_out, 0)) * left_wrong;
  // The mean rises with the shift, so it is found by halving.
  double low = 0;
  double high = kShiftMax;
  for (int i = 0; i < kHalvings; i++) {
    const double middle = (low + high) / 2;
    (mean_confidence(left_out, middle) < wanted ? low : high) = middle;
  }
  out.shift = low;
  return out;
}

// Behind slope and shift the log odds are shifted alone; a map behind them is drawn on axes that are.
void raise(Calibration& calibration, double shift) {
  if (shift == 0) return;
  calibration.shift += shift;
  for (auto& [x, y] : calibration.isotonic) {
    x = raised_share(x, shift);
    y = raised_share(y, shift);
  }
  // What rounding made equal is one knot.
  auto& knots = calibration.isotonic;
  knots.erase(
      std::unique(knots.begin(), knots.end(), [](const auto& a, const auto& b) { return !(a.first < b.first); }),
      knots.end());
}

Outcome raised(const Outcome& outcome, double shift) {
  constexpr double kSmallest = 1e-300;
  if (shift == 0 || outcome.probabilities.size() < 2) return outcome;
  std::vector<double> scores;
  for (const double probability : outcome.probabilities) scores.push_back(std::log(std::max(kSmallest, probability)));
  Calibration alone;
  alone.shift = shift;
  auto probabilities = calibrated(alone, scores);
  ASSAY_ASSERT(probabilities.ok());  // the scores are finite
  Outcome out = outcome;
  out.probabilities = std::move(*probabilities);
  return out;
}

}  // namespace assay::teach
