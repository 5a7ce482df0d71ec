#include "teach/sureness.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/assert.h"
#include "decision/readout.h"

namespace assay::teach {
namespace {

constexpr int kStepsMax = 100;
constexpr int kHalvingsMax = 60;

double log_others(std::size_t options) { return std::log(static_cast<double>(options) - 1); }

// ln(1 + exp(x)), without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

double log_odds(const SurenessRow& row, const Sureness& at) {
  return at.slope * row.evidence - log_others(row.options) + at.shift;
}

double loss_at(std::span<const SurenessRow> rows, const SurenessPrior& prior, const Sureness& at) {
  const double slope = at.slope - prior.parent.slope;
  const double shift = at.shift - prior.parent.shift;
  double sum = (prior.slope_weight * slope * slope + prior.shift_weight * shift * shift) / 2;
  for (const SurenessRow& row : rows) {
    const double odds = log_odds(row, at);
    sum += softplus(odds) - (row.right ? odds : 0);
  }
  return sum;
}

// Gradient and second derivatives of the loss.
struct Slopes {
  double slope = 0, shift = 0;
  double slope_slope = 0, slope_shift = 0, shift_shift = 0;
};

Slopes slopes_at(std::span<const SurenessRow> rows, const SurenessPrior& prior, const Sureness& at) {
  Slopes out{prior.slope_weight * (at.slope - prior.parent.slope), prior.shift_weight * (at.shift - prior.parent.shift),
             prior.slope_weight, 0, prior.shift_weight};
  for (const SurenessRow& row : rows) {
    const double p = logistic(log_odds(row, at));
    const double off = p - (row.right ? 1 : 0);
    const double spread = p * (1 - p);
    out.slope += off * row.evidence;
    out.shift += off;
    out.slope_slope += spread * row.evidence * row.evidence;
    out.slope_shift += spread * row.evidence;
    out.shift_shift += spread;
  }
  return out;
}

// Newton's step; along the shift alone where the slope is held.
Sureness step_of(const Slopes& slopes, bool slope_held) {
  constexpr double kFlat = 1e-12;  // what keeps a system solvable that nothing holds
  if (slope_held) return {0, slopes.shift / (slopes.shift_shift + kFlat)};
  const double a = slopes.slope_slope + kFlat;
  const double d = slopes.shift_shift + kFlat;
  const double b = slopes.slope_shift;
  const double determinant = a * d - b * b;
  if (!(determinant > 0)) return {slopes.slope / a, slopes.shift / d};
  return {(d * slopes.slope - b * slopes.shift) / determinant, (a * slopes.shift - b * slopes.slope) / determinant};
}

// Down from `at`; with the slope held it stays.
Sureness descend(std::span<const SurenessRow> rows, const SurenessPrior& prior, Sureness at, bool slope_held) {
  double loss = loss_at(rows, prior, at);
  for (int step = 0; step < kStepsMax; step++) {
    const Sureness way = step_of(slopes_at(rows, prior, at), slope_held);
    double part = 1;
    for (int halving = 0; halving < kHalvingsMax; halving++, part /= 2) {
      const Sureness next{at.slope - part * way.slope, at.shift - part * way.shift};
      const double there = loss_at(rows, prior, next);
      if (!(there <= loss)) continue;
      const bool done = std::abs(next.slope - at.slope) <= 1e-10 && std::abs(next.shift - at.shift) <= 1e-10;
      at = next;
      loss = there;
      if (done) return at;
      break;
    }
    if (part < 1e-15) return at;
  }
  return at;
}

}  // namespace

double evidence_of(std::span<const double> scores) {
  ASSAY_ASSERT(scores.size() > 1);
  const auto best = std::max_element(scores.begin(), scores.end());
  std::vector<double> others(scores.begin(), best);
  others.insert(others.end(), best + 1, scores.end());
  const double odds = *best - decision::log_sum_exp(others);
  return std::clamp(odds + log_others(scores.size()), 0.0, kEvidenceMax);
}

double sure_probability(const Sureness& sureness, double evidence, std::size_t option_count) {
  ASSAY_ASSERT(option_count > 1);
  const double c = logistic(sureness.slope * evidence - log_others(option_count) + sureness.shift);
  return std::clamp(c, 1 / static_cast<double>(option_count), 1.0);
}

Sureness fit_sureness(std::span<const SurenessRow> rows, const SurenessPrior& prior) {
  ASSAY_ASSERT(prior.slope_weight >= 0 && prior.shift_weight >= 0);
  const Sureness free = descend(rows, prior, prior.parent, false);
  if (free.slope >= 0) return free;
  // The function is convex, so its smallest value where the slope may not be negative has a slope of 0.
  return descend(rows, prior, {0, prior.parent.shift}, true);
}

}  // namespace assay::teach
