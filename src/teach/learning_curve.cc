#include "teach/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "teach/folds.h"

namespace assay::teach {
namespace {

constexpr double kExponentStep = 0.05;
constexpr int kExponents = 40;  // 0.05 .. 2
constexpr double kSpreadMin = 0.01;
// Residuals above so many spreads count linearly, no longer by their square.
constexpr double kHuber = 1.5;
constexpr int kReweightings = 20;

struct Fit {
  double a = 0, b = 0, c = 0;
  double misfit = std::numeric_limits<double>::infinity();  // Huber's; chi-squared where no point is far off
  double at(double labels) const { return a - b * std::pow(labels, -c); }
};

double spread_of(const CurvePoint& point) { return std::max(point.spread, kSpreadMin); }

bool usable(const CurvePoint& point) {
  return std::isfinite(point.labels) && point.labels > 0 && point.accuracy >= 0 && point.accuracy <= 1 &&
         std::isfinite(point.spread) && point.spread >= 0;
}

// a and b for one c and these weights: least squares of accuracy on x = -labels^-c, with a held at 1 where it would be
// above.
void solve(std::span<const CurvePoint> points, std::span<const double> weights, Fit& fit) {
  double w = 0, x_mean = 0, y_mean = 0;
  for (std::size_t i = 0; i < points.size(); i++) {
    w += weights[i];
    x_mean -= weights[i] * std::pow(points[i].labels, -fit.c);
    y_mean += weights[i] * points[i].accuracy;
  }
  x_mean /= w;
  y_mean /= w;
  double xx = 0, xy = 0, xx_from_1 = 0, xy_from_1 = 0;
  for (std::size_t i = 0; i < points.size(); i++) {
    const double x = -std::pow(points[i].labels, -fit.c);
    xx += weights[i] * (x - x_mean) * (x - x_mean);
    xy += weights[i] * (x - x_mean) * (points[i].accuracy - y_mean);
    xx_from_1 += weights[i] * x * x;
    xy_from_1 += weights[i] * x * (points[i].accuracy - 1);
  }
  fit.b = xy / xx;
  fit.a = y_mean - fit.b * x_mean;
  if (fit.a > 1) {
    fit.a = 1;
    fit.b = xy_from_1 / xx_from_1;
  }
}

Fit fit_with(std::span<const CurvePoint> points, double exponent) {
  Fit fit{.c = exponent};
  std::vector<double> weights;
  weights.reserve(points.size());
  for (const CurvePoint& point : points) weights.push_back(1 / (spread_of(point) * spread_of(point)));
  const std::vector<double> full = weights;
  for (int round = 0; round < kReweightings; round++) {
    solve(points, weights, fit);
    fit.misfit = 0;
    for (std::size_t i = 0; i < points.size(); i++) {
      const double off = std::abs(points[i].accuracy - fit.at(points[i].labels)) * std::sqrt(full[i]);
      fit.misfit += off <= kHuber ? off * off : 2 * kHuber * off - kHuber * kHuber;
      weights[i] = off <= kHuber ? full[i] : full[i] * kHuber / off;
    }
  }
  return fit;
}

std::size_t different_labels(std::span<const CurvePoint> points) {
  std::vector<double> labels;
  labels.reserve(points.size());
  for (const CurvePoint& point : points) labels.push_back(point.labels);
  std::sort(labels.begin(), labels.end());
  return static_cast<std::size_t>(std::unique(labels.begin(), labels.end()) - labels.begin());
}

}  // namespace

std::optional<CurvePrediction> predict_accuracy(std::span<const CurvePoint> points, double labels) {
  if (!std::isfinite(labels) || labels <= 0) return std::nullopt;
  if (!std::all_of(points.begin(), points.end(), usable) || different_labels(points) < 3) return std::nullopt;
  std::vector<Fit> fits;
  Fit best;
  for (int step = 1; step <= kExponents; step++) {
    fits.push_back(fit_with(points, step * kExponentStep));
    if (fits.back().misfit < best.misfit) best = fits.back();
  }
  if (!std::isfinite(best.misfit) || best.b <= 1e-9) return std::nullopt;
  CurvePrediction prediction{.accuracy = best.at(labels), .ceiling = best.a};
  prediction.low = prediction.high = prediction.accuracy;
  // Two numbers and c are fitted: what is left over says whether the spreads are to be believed.
  const double left_over = std::max(1.0, static_cast<double>(points.size()) - 3);
  const double misfit_max = best.misfit + std::max(1.0, best.misfit / left_over);
  for (const Fit& fit : fits) {
    if (!(fit.misfit <= misfit_max)) continue;
    prediction.low = std::min(prediction.low, fit.at(labels));
    prediction.high = std::max(prediction.high, fit.at(labels));
  }
  const double spread = spread_of(*std::max_element(
      points.begin(), points.end(), [](const auto& left, const auto& right) { return left.labels < right.labels; }));
  prediction.low = std::clamp(prediction.low - spread, 0.0, 1.0);
  prediction.high = std::clamp(prediction.high + spread, 0.0, 1.0);
  prediction.accuracy = std::clamp(prediction.accuracy, 0.0, 1.0);
  return prediction;
}

std::vector<std::size_t> curve_sizes(std::span<const std::size_t> options) {
  std::size_t most = 0;
  for (const auto& rows : rows_by_class(options)) most = std::max(most, rows.size());
  std::vector<std::size_t> sizes;
  for (const std::size_t size : {1, 2, 3, 5}) {
    if (size < most) sizes.push_back(size);
  }
  for (std::size_t ten = 10; ten < most; ten *= 10) {
    for (const std::size_t times : {1, 2, 3, 5}) {
      if (ten * times < most) sizes.push_back(ten * times);
    }
  }
  if (most > 0) sizes.push_back(most);
  return sizes;
}

std::vector<CurveDraw> curve_draws(std::span<const std::size_t> options, std::span<const std::size_t> sizes,
                                   std::size_t repeats, std::uint64_t seed) {
  // Each repeat shuffles the rows of each option once; a draw takes them from the front.
  Random random(seed);
  std::vector<std::vector<std::vector<std::size_t>>> shuffled(repeats, rows_by_class(options));
  for (auto& by_option : shuffled) {
    for (auto& rows : by_option) random.shuffle(rows);
  }
  std::vector<CurveDraw> draws;
  for (const std::size_t size : sizes) {
    for (std::size_t repeat = 0; repeat < repeats; repeat++) {
      CurveDraw draw{.size = size, .repeat = repeat};
      std::size_t options_drawn = 0;
      for (const auto& rows : shuffled[repeat]) {
        const std::size_t count = std::min(size, rows.size());
        draw.rows.insert(draw.rows.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
        if (count > 0) options_drawn++;
      }
      if (options_drawn == 0) continue;
      std::sort(draw.rows.begin(), draw.rows.end());
      draw.labels = static_cast<double>(draw.rows.size()) / static_cast<double>(options_drawn);
      const bool all = draw.rows.size() == options.size();
      draws.push_back(std::move(draw));
      if (all) break;
    }
  }
  return draws;
}

}  // namespace assay::teach
