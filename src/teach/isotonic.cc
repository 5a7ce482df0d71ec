#include "teach/isotonic.h"

#include <algorithm>

#include "base/assert.h"

namespace assay::teach {

double interpolate(std::span<const std::pair<double, double>> knots, double x) {
  ASSAY_ASSERT(!knots.empty());
  if (x <= knots.front().first) return knots.front().second;
  if (x >= knots.back().first) return knots.back().second;
  const auto right = std::upper_bound(knots.begin(), knots.end(), x,
                                      [](double value, const auto& knot) { return value < knot.first; });
  const auto left = right - 1;
  const double along = (x - left->first) / (right->first - left->first);
  // Within [left, right] whatever the rounding.
  return std::clamp(left->second + along * (right->second - left->second), left->second, right->second);
}

}  // namespace assay::teach
