#pragma once
// The one number that makes scores as sure as they are right.

#include <cstddef>
#include <span>

namespace assay::teach {

// A row's scores and the option that was right. REQUIRES everywhere: finite scores, expected < scores.size().
struct ScoredLabel {
  std::span<const double> scores;
  std::size_t expected = 0;
};

// Temperatures are looked for in this range; labels that ask for more (all wrong) or less (all right) get its
// end, or the place before it from which on nothing changes in double.
inline constexpr double kTemperatureMin = 0.001;
inline constexpr double kTemperatureMax = 1000;

// How many rows' worth of belief says that the scores are right as they are.
inline constexpr double kTemperaturePrior = 1;

// The temperature T = 1 / b that makes
//
//   sum over rows of -ln softmax(b * scores)[expected]  +  prior * (b * centre - ln b)
//
// smallest: temperature scaling (Guo et al. 2017) with a Gamma prior on b whose mode is 1 / centre. The sum is convex
// in b, so the smallest is found by Newton's steps within a bracket, to a relative 1e-10. The prior keeps few or
// separable labels from claiming certainty: without rows T is `centre`, and n rows that are all right give a T that
// falls with n only slowly. With prior = 0 it is the plain fit; where nothing depends on b (no rows, one option, equal
// scores), T is `centre`. REQUIRES: prior >= 0; centre in kTemperatureMin .. kTemperatureMax.
double fit_temperature(std::span<const ScoredLabel> rows, double prior = kTemperaturePrior, double centre = 1);

// Mean of -ln softmax(scores / temperature)[expected], from the logarithms, so never infinite; 0 for no rows.
double log_loss_at(std::span<const ScoredLabel> rows, double temperature);

}  // namespace assay::teach
