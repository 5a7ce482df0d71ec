#include "teach/isotonic.h"

#include <algorithm>

#include "base/assert.h"

namespace assay::teach {
namespace {

// Points from x_first to x_last that have one value.
struct Block {
  double x_first = 0, x_last = 0;
  double value = 0, weight = 0;
};

// `left` takes `right` in, with the mean of both.
void pool(Block& left, const Block& right) {
  const double weight = left.weight + right.weight;
  left.value += (right.value - left.value) * (right.weight / weight);
  left.weight = weight;
  left.x_last = right.x_last;
}

}  // namespace

Knots fit_isotonic(std::span<const WeightedPoint> points) {
  std::vector<WeightedPoint> sorted(points.begin(), points.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  // Each point is a block of its own first, or joins the one of its x.
  std::vector<Block> blocks;
  for (const WeightedPoint& point : sorted) {
    const Block block{point.x, point.x, point.y, point.weight};
    if (!blocks.empty() && blocks.back().x_last == point.x) {
      pool(blocks.back(), block);
    } else {
      blocks.push_back(block);
    }
  }
  // pooled[0..top] rises strictly; a block that does not is pooled with the one before, which may then not rise itself.
  std::vector<Block> pooled;
  for (const Block& block : blocks) {
    pooled.push_back(block);
    while (pooled.size() > 1 && pooled[pooled.size() - 2].value >= pooled.back().value) {
      pool(pooled[pooled.size() - 2], pooled.back());
      pooled.pop_back();
    }
  }
  Knots knots;
  for (const Block& block : pooled) {
    knots.emplace_back(block.x_first, block.value);
    if (block.x_last > block.x_first) knots.emplace_back(block.x_last, block.value);
  }
  return knots;
}

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
