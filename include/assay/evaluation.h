#pragma once
// Numbers about a set of labelled decisions. Pure functions; formulas as JevBench states them (docs/evaluation.md).

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace assay {

// One labelled, answered decision.
struct Outcome {
  std::vector<double> probabilities;  // one for each option, in option order
  std::size_t expected = 0;           // index of the right option
  std::size_t predicted = 0;          // index of the answer given
};

// Share of outcomes whose prediction is right; 0 for an empty span.
double accuracy(std::span<const Outcome> outcomes);
// Mean over outcomes of sum_k (p_k - y_k)^2, in [0, 2]; 0 for an empty span.
double brier_score(std::span<const Outcome> outcomes);
// Mean over outcomes of -ln p_expected in nats, with p no smaller than 2^-52, as scikit-learn has it: a right option
// that got probability 0 costs 36 nats, not infinitely many. 0 for an empty span.
double log_loss(std::span<const Outcome> outcomes);

// A bin of the reliability diagram: top-label confidence in [low, high) (the last one includes 1).
struct ReliabilityBin {
  double low = 0;
  double high = 0;
  std::size_t count = 0;
  double confidence = 0;  // mean over the bin; 0 when empty
  double accuracy = 0;    // share right; 0 when empty
};
// Equal-width bins over [0, 1] of the predicted option's probability. REQUIRES: bin_count > 0.
std::vector<ReliabilityBin> reliability_bins(std::span<const Outcome> outcomes, std::size_t bin_count = 10);
// sum_b (n_b / n) * |accuracy_b - confidence_b| over 10 bins; empty bins are left out.
double expected_calibration_error(std::span<const Outcome> outcomes);

// The same without what chance adds, as far as the rows tell: the square root of
//
//   sum_b (n_b / n) * ((accuracy_b - confidence_b)^2 - accuracy_b (1 - accuracy_b) / (n_b - 1))
//
// or 0 where the sum is negative (the debiased estimator of Kumar, Liang and Ma 2019, "Verified uncertainty
// calibration"). Bins as above; those with one row say nothing and are left out. It estimates a root of mean squares,
// which is at least as large as the mean distance.
double debiased_calibration_error(std::span<const Outcome> outcomes);

// What expected_calibration_error() shows of a perfectly calibrated answerer: the mean, and where nine of ten lie.
struct CalibrationFloor {
  double mean = 0;
  double low = 0, high = 0;
};

// The q-quantile, q in [0, 1], linear between order statistics; 0 for an empty vector.
double percentile(std::vector<double> values, double q);

}  // namespace assay
