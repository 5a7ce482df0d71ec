#pragma once
// Non-decreasing maps: a fit to labels, and what it says at a point.

#include <span>
#include <utility>

namespace assay::teach {

// The value at x of the line through the knots (rising x): linear between two, constant outside.
// REQUIRES: at least one knot; x is no NaN.
double interpolate(std::span<const std::pair<double, double>> knots, double x);

}  // namespace assay::teach
