#include "teach/temperature.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace assay::teach {
namespace {

// Of one row at b: -ln softmax(b s)[expected] and its first two derivatives in b.
struct Loss {
  double value = 0, slope = 0, curvature = 0;
};

Loss loss_of(const ScoredLabel& row, double b) {
  const double highest = *std::max_element(row.scores.begin(), row.scores.end());
  double sum = 0;
  double mean = 0;    // of s - highest under softmax(b s)
  double square = 0;  // of its square
  for (const double score : row.scores) {
    const double below = score - highest;
    const double weight = std::exp(b * below);
    sum += weight;
    mean += weight * below;
    square += weight * below * below;
  }
  mean /= sum;
  square /= sum;
  const double right = row.scores[row.expected] - highest;
  return {std::log(sum) - b * right, mean - right, std::max(0.0, square - mean * mean)};
}

Loss loss_of(std::span<const ScoredLabel> rows, double b, double prior, double centre) {
  Loss total{0, prior * (centre - 1 / b), prior / (b * b)};
  for (const ScoredLabel& row : rows) {
    const Loss one = loss_of(row, b);
    total.slope += one.slope;
    total.curvature += one.curvature;
  }
  return total;
}

}  // namespace

double fit_temperature(std::span<const ScoredLabel> rows, double prior, double centre) {
  ASSAY_ASSERT(prior >= 0 && centre >= kTemperatureMin && centre <= kTemperatureMax);
  constexpr int kStepsMax = 200;
  double low = 1 / kTemperatureMax;
  double high = 1 / kTemperatureMin;
  double b = 1 / centre;
  for (int step = 0; step < kStepsMax; step++) {
    const Loss at = loss_of(rows, b, prior, centre);
    if (at.slope == 0) return 1 / b;
    // The slope rises with b: the smallest loss lies on the side that it falls to.
    (at.slope > 0 ? high : low) = b;
    double next = b - at.slope / at.curvature;
    // A step that leaves the bracket, or is no number, is replaced by the bracket's middle; of a ratio, since b is a
    // scale.
    if (!(next > low && next < high)) next = std::sqrt(low * high);
    if (std::abs(next - b) <= 1e-11 * b || high / low < 1 + 1e-11) return 1 / next;
    b = next;
  }
  return 1 / b;
}

double log_loss_at(std::span<const ScoredLabel> rows, double temperature) {
  ASSAY_ASSERT(std::isfinite(temperature) && temperature > 0);
  if (rows.empty()) return 0;
  double sum = 0;
  for (const ScoredLabel& row : rows) sum += loss_of(row, 1 / temperature).value;
  return sum / static_cast<double>(rows.size());
}

}  // namespace assay::teach
