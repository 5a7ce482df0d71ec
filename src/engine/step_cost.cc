#include "engine/step_cost.h"

#include <algorithm>
#include <cmath>

namespace assay::engine {
namespace {

constexpr double kRateWeight = 0.25;   // of the newest step
constexpr double kFade = 0.98;         // of what is known of depths, with each step
constexpr double kDepthScale = 1e-3;   // depths are counted in thousands, so that the sums are of one size
constexpr double kLeastSpread = 1e-3;  // of depths between steps, before anything is concluded from them
constexpr double kDepthWeightMax = 0.1;

}  // namespace

void StepCost::learn(std::int32_t rows, double depths, double ms) {
  if (ms <= 0) return;
  const double counted = units(rows, depths);
  const double best = std::max<double>(counted, few_rows_) / ms * 1e3;
  best_units_per_second_ = std::max(best, best_units_per_second_ + kRateWeight * (best - best_units_per_second_));
  decodes_++;
  const bool is_much = counted >= few_rows_;
  if (decodes_ == 2 || (is_much && !has_seen_much_)) {
    rows_rows_ = rows_depths_ = depths_depths_ = rows_ = depths_ = depth_weight_ = units_per_second_ = 0;
    has_seen_much_ = is_much;
  } else if (!is_much && has_seen_much_ && counted / ms * 1e3 <= units_per_second_) {
    return;
  }
  // Least squares of 1 = a * r + b * d over steps, where r and d are a step's rows and depths for a millisecond.
  const double r = rows / ms;
  const double d = depths * kDepthScale / ms;
  rows_rows_ = kFade * rows_rows_ + r * r;
  rows_depths_ = kFade * rows_depths_ + r * d;
  depths_depths_ = kFade * depths_depths_ + d * d;
  rows_ = kFade * rows_ + r;
  depths_ = kFade * depths_ + d;
  const double determinant = rows_rows_ * depths_depths_ - rows_depths_ * rows_depths_;
  if (determinant > kLeastSpread * rows_rows_ * depths_depths_) {
    const double a = (rows_ * depths_depths_ - depths_ * rows_depths_) / determinant;
    const double b = (depths_ * rows_rows_ - rows_ * rows_depths_) / determinant;
    if (a > 0) depth_weight_ = std::clamp(b / a * kDepthScale, 0.0, kDepthWeightMax);
  }
  const double rate = units(rows, depths) / ms * 1e3;
  units_per_second_ = units_per_second_ > 0 ? units_per_second_ + kRateWeight * (rate - units_per_second_) : rate;
}

double StepCost::units_up_to(std::int32_t rows, std::int32_t end) const {
  return units(rows, std::max(0.0, rows * (end - (rows + 1) / 2.0)));
}

// n + w * (n * from + n * (n - 1) / 2) <= units.
std::int32_t StepCost::rows_within(double units, std::int32_t from) const {
  if (units <= 0) return 0;
  const double half = depth_weight_ / 2;
  const double each = 1 + depth_weight_ * from - half;
  // The stable form of the quadratic's root: it is units / each where the weight is 0.
  const double rows = 2 * units / (each + std::sqrt(each * each + 4 * half * units));
  return static_cast<std::int32_t>(std::min(rows + 1e-6, 1e9));
}

}  // namespace assay::engine
