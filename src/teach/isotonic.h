#pragma once
// Non-decreasing maps: a fit to labels, and what it says at a point.

#include <span>
#include <utility>
#include <vector>

namespace assay::teach {

using Knots = std::vector<std::pair<double, double>>;

struct WeightedPoint {
  double x = 0, y = 0;
  double weight = 1;  // above 0
};

// The non-decreasing map that makes sum weight * (map(x) - y)^2 smallest, by pooling neighbours that violate the order
// (Ayer et al. 1955), as knots: one block of equal values has a knot at either end. Points of equal x count as one with
// their mean. It equals scikit-learn's IsotonicRegression, also between the knots. No points: no knots.
// REQUIRES: finite x and y. O(n log n).
Knots fit_isotonic(std::span<const WeightedPoint> points);

// The value at x of the line through the knots (rising x): linear between two, constant outside.
// REQUIRES: at least one knot; x is no NaN.
double interpolate(std::span<const std::pair<double, double>> knots, double x);

}  // namespace assay::teach
