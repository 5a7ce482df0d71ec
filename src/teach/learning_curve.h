#pragma once
// What more labels would probably bring: the accuracy with few labels, with more, and from these with more still.
//
//   for (const CurveDraw& draw : curve_draws(options_of_rows, curve_sizes(options_of_rows), 5, seed)) …fit, measure…
//   const auto next = predict_accuracy(points, 15);   // 15 labels an option
//
// Pure functions: any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace assay::teach {

// An accuracy that was measured, as a mean of several draws or folds.
struct CurvePoint {
  double labels = 0;    // by option, on average; above 0
  double accuracy = 0;  // in [0, 1]
  double spread = 0;    // one standard deviation of `accuracy`; 0 or more; 0.01 at least is reckoned with
};

struct CurvePrediction {
  double accuracy = 0;       // in [0, 1], at least `low` and at most `high`
  double low = 0, high = 0;  // see below
  double ceiling = 0;        // a: what endless labels would bring, by the best fit
};

// The accuracy with `labels` labels by option, by the saturating power law a - b n^-c, the usual shape of such curves
// (Cortes et al. 1993, "Learning curves: asymptotic values and rate of convergence"): for each c of a grid from 0.05 to
// 2, the a <= 1 and b > 0 that fit best by least squares, each point weighted by 1 / spread^2, and a point far off the
// others less (Huber 1964). The c that fits best predicts. `low` and `high` are the outermost predictions of all c
// whose misfit (chi-squared) is within 1 of the best one, scaled up where even the best does not fit to within the
// spreads, and each moved outwards by the spread of the point with most labels. It is no guarantee: the law itself may
// not hold. Nothing where fewer than 3 different numbers of labels are there, where accuracies do not rise with labels,
// and for numbers out of their ranges, NaN and infinity among them.
std::optional<CurvePrediction> predict_accuracy(std::span<const CurvePoint> points, double labels);

// Labels by option worth measuring at: 1, 2, 3, 5, 10, 20, 30, 50, 100, … up to the number of rows of the largest
// option, which comes last. Empty for no rows.
std::vector<std::size_t> curve_sizes(std::span<const std::size_t> options);

// Rows for one fit.
struct CurveDraw {
  std::size_t size = 0;           // at most so many of each option
  std::size_t repeat = 0;         // 0 .. repeats - 1
  double labels = 0;              // rows by option that has any, for CurvePoint::labels
  std::vector<std::size_t> rows;  // rising
};

// `repeats` draws of each size, in the order of the sizes. Of each option (options[i] is row i's) `size` rows are drawn
// at random, or all where there are fewer. Within a repeat the draws are nested: a larger one has the rows of a smaller
// one, and more. A size that draws the same rows in each repeat, as all rows, is there once. The same for the same seed
// on every machine.
std::vector<CurveDraw> curve_draws(std::span<const std::size_t> options, std::span<const std::size_t> sizes,
                                   std::size_t repeats, std::uint64_t seed);

}  // namespace assay::teach
