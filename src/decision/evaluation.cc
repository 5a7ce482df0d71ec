#include "assay/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"

namespace assay {
namespace {

double confidence_of(const Outcome& outcome) {
  ASSAY_ASSERT(outcome.predicted < outcome.probabilities.size());
  return outcome.probabilities[outcome.predicted];
}

// The bin with low <= value < high. The product can round to the other side of an edge, so the edges decide.
std::size_t bin_of(const std::vector<ReliabilityBin>& bins, double value) {
  const double scaled = std::clamp(value, 0.0, 1.0) * static_cast<double>(bins.size());
  std::size_t bin = std::min(static_cast<std::size_t>(scaled), bins.size() - 1);
  if (bin > 0 && value < bins[bin].low) bin--;
  if (bin + 1 < bins.size() && value >= bins[bin].high) bin++;
  return bin;
}

}  // namespace

double accuracy(std::span<const Outcome> outcomes) {
  if (outcomes.empty()) return 0;
  const auto right = std::count_if(outcomes.begin(), outcomes.end(),
                                   [](const Outcome& outcome) { return outcome.predicted == outcome.expected; });
  return static_cast<double>(right) / static_cast<double>(outcomes.size());
}

double log_loss(std::span<const Outcome> outcomes) {
  if (outcomes.empty()) return 0;
  double sum = 0;
  for (const Outcome& outcome : outcomes) {
    ASSAY_ASSERT(outcome.expected < outcome.probabilities.size());
    sum -= std::log(std::max(outcome.probabilities[outcome.expected], std::numeric_limits<double>::epsilon()));
  }
  return sum / static_cast<double>(outcomes.size());
}

double brier_score(std::span<const Outcome> outcomes) {
  if (outcomes.empty()) return 0;
  double sum = 0;
  for (const Outcome& outcome : outcomes) {
    for (std::size_t k = 0; k < outcome.probabilities.size(); k++) {
      const double distance = outcome.probabilities[k] - (k == outcome.expected ? 1.0 : 0.0);
      sum += distance * distance;
    }
  }
  return sum / static_cast<double>(outcomes.size());
}

std::vector<ReliabilityBin> reliability_bins(std::span<const Outcome> outcomes, std::size_t bin_count) {
  ASSAY_ASSERT(bin_count > 0);
  std::vector<ReliabilityBin> bins(bin_count);
  for (std::size_t b = 0; b < bin_count; b++) {
    bins[b].low = static_cast<double>(b) / static_cast<double>(bin_count);
    bins[b].high = static_cast<double>(b + 1) / static_cast<double>(bin_count);
  }
  for (const Outcome& outcome : outcomes) {  // sums first, means below
    const double confidence = confidence_of(outcome);
    ReliabilityBin& bin = bins[bin_of(bins, confidence)];
    bin.count++;
    bin.confidence += confidence;
    bin.accuracy += outcome.predicted == outcome.expected ? 1 : 0;
  }
  for (ReliabilityBin& bin : bins) {
    if (bin.count == 0) continue;
    bin.confidence /= static_cast<double>(bin.count);
    bin.accuracy /= static_cast<double>(bin.count);
  }
  return bins;
}

double expected_calibration_error(std::span<const Outcome> outcomes) {
  if (outcomes.empty()) return 0;
  double sum = 0;
  for (const ReliabilityBin& bin : reliability_bins(outcomes)) {
    sum += static_cast<double>(bin.count) * std::abs(bin.accuracy - bin.confidence);
  }
  return sum / static_cast<double>(outcomes.size());
}

double debiased_calibration_error(std::span<const Outcome> outcomes) {
  double sum = 0;
  double rows = 0;
  for (const ReliabilityBin& bin : reliability_bins(outcomes)) {
    if (bin.count < 2) continue;
    const auto count = static_cast<double>(bin.count);
    const double distance = bin.accuracy - bin.confidence;
    sum += count * (distance * distance - bin.accuracy * (1 - bin.accuracy) / (count - 1));
    rows += count;
  }
  return rows == 0 ? 0 : std::sqrt(std::max(0.0, sum / rows));
}

double percentile(std::vector<double> values, double q) {
  ASSAY_ASSERT(q >= 0 && q <= 1);
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  // Position q (n - 1) on the line through the sorted values: 0 is the least, n - 1 the greatest.
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

}  // namespace assay
