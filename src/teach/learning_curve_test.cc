#include "teach/learning_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "teach/folds.h"

namespace assay::teach {
namespace {

std::vector<CurvePoint> curve(double a, double b, double c, double spread) {
  std::vector<CurvePoint> points;
  for (const double labels : {1.0, 2.0, 3.0, 5.0, 10.0})
    points.push_back({labels, a - b * std::pow(labels, -c), spread});
  return points;
}

TEST(PredictAccuracy, FindsTheLawThatMadeThePoints) {
  const auto found = predict_accuracy(curve(0.9, 0.5, 0.7, 0.01), 40);
  ASSERT_TRUE(found.has_value());
  const double truth = 0.9 - 0.5 * std::pow(40, -0.7);
  EXPECT_NEAR(found->accuracy, truth, 1e-9);
  EXPECT_NEAR(found->ceiling, 0.9, 1e-9);
  EXPECT_LE(found->low, truth - 0.01);
  EXPECT_GE(found->high, truth + 0.01);
  EXPECT_LT(found->high - found->low, 0.15);
}

TEST(PredictAccuracy, NeverPromisesMoreThanOne) {
  // A straight line in ln n leads above 1.
  std::vector<CurvePoint> points;
  for (const double labels : {1.0, 2.0, 4.0, 8.0}) points.push_back({labels, 0.6 + 0.15 * std::log(labels), 0.01});
  const auto found = predict_accuracy(points, 1e6);
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(found->ceiling, 1);
  EXPECT_LE(found->high, 1);
  EXPECT_LE(found->low, found->accuracy);
  EXPECT_LE(found->accuracy, found->high);
}

TEST(PredictAccuracy, IsLessSureFurtherOutAndWithWiderSpreads) {
  const auto width = [](double spread, double labels) {
    const auto found = predict_accuracy(curve(0.85, 0.45, 0.6, spread), labels);
    return found ? found->high - found->low : 0;
  };
  EXPECT_GT(width(0.01, 15), 0.02);
  EXPECT_GT(width(0.01, 1000), width(0.01, 15));
  EXPECT_GT(width(0.04, 100), width(0.01, 100));
}

TEST(PredictAccuracy, OnePointFarOffDoesNotTurnIt) {
  auto points = curve(0.9, 0.5, 0.7, 0.01);
  points[1].accuracy -= 0.2;
  points.push_back({20, 0.9 - 0.5 * std::pow(20, -0.7), 0.01});
  points.push_back({30, 0.9 - 0.5 * std::pow(30, -0.7), 0.01});
  const auto found = predict_accuracy(points, 60);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->accuracy, 0.9 - 0.5 * std::pow(60, -0.7), 0.02);
}

TEST(PredictAccuracy, HoldsWhatIsMeasuredLater) {
  // 300 curves with noise of one spread: what 20 labels then bring lies between low and high most of the time.
  Random random(77);
  const auto uniform = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  int held = 0, predicted = 0;
  double off = 0;
  for (int run = 0; run < 300; run++) {
    const double a = 0.7 + 0.25 * uniform(), b = 0.2 + 0.3 * uniform(), c = 0.3 + 0.9 * uniform();
    auto points = curve(a, b, c, 0.015);
    for (CurvePoint& point : points) {
      double noise = -6;
      for (int i = 0; i < 12; i++) noise += uniform();
      point.accuracy = std::clamp(point.accuracy + 0.015 * noise, 0.0, 1.0);
    }
    const auto found = predict_accuracy(points, 20);
    if (!found) continue;
    const double truth = a - b * std::pow(20, -c);
    predicted++;
    off += std::abs(found->accuracy - truth);
    if (found->low <= truth && truth <= found->high) held++;
  }
  std::printf("seed 77: %d of 300 predicted, %d held, off by %.4f on average\n", predicted, held, off / predicted);
  EXPECT_GT(predicted, 290);
  EXPECT_GT(held, predicted * 8 / 10);
  EXPECT_LT(off / predicted, 0.025);
}

TEST(PredictAccuracy, SaysNothingWithoutARise) {
  EXPECT_FALSE(predict_accuracy({}, 10).has_value());
  EXPECT_FALSE(predict_accuracy(std::vector<CurvePoint>{{1, 0.5, 0}, {2, 0.6, 0}}, 10).has_value());
  // Three points, two numbers of labels.
  EXPECT_FALSE(predict_accuracy(std::vector<CurvePoint>{{1, 0.5, 0}, {2, 0.6, 0}, {2, 0.61, 0}}, 10).has_value());
  EXPECT_FALSE(predict_accuracy(std::vector<CurvePoint>{{1, 0.6, 0}, {2, 0.6, 0}, {3, 0.6, 0}}, 10).has_value());
  EXPECT_FALSE(predict_accuracy(std::vector<CurvePoint>{{1, 0.7, 0}, {2, 0.6, 0}, {3, 0.5, 0}}, 10).has_value());
  EXPECT_FALSE(predict_accuracy(std::vector<CurvePoint>{{1, 1, 0}, {2, 1, 0}, {3, 1, 0}}, 10).has_value());
}

TEST(PredictAccuracy, SaysNothingToNumbersThatAreNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto points = curve(0.9, 0.5, 0.7, 0.01);
  EXPECT_FALSE(predict_accuracy(points, nan).has_value());
  EXPECT_FALSE(predict_accuracy(points, 0).has_value());
  points[2].accuracy = nan;
  EXPECT_FALSE(predict_accuracy(points, 20).has_value());
  points[2] = {.labels = 0, .accuracy = 0.5};
  EXPECT_FALSE(predict_accuracy(points, 20).has_value());
}

TEST(CurveSizes, GoUpToTheLargestOption) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(curve_sizes({}), Sizes{});
  EXPECT_EQ(curve_sizes(std::vector<std::size_t>{0}), Sizes{1});
  EXPECT_EQ(curve_sizes(std::vector<std::size_t>(10, 0)), (Sizes{1, 2, 3, 5, 10}));
  EXPECT_EQ(curve_sizes(std::vector<std::size_t>(120, 2)), (Sizes{1, 2, 3, 5, 10, 20, 30, 50, 100, 120}));
}

TEST(CurveDraws, AreNestedStratifiedAndOfTheSeed) {
  // Option 0 has 7 rows, option 1 none, option 2 two.
  const std::vector<std::size_t> options = {0, 2, 0, 0, 0, 2, 0, 0, 0};
  const std::vector<std::size_t> sizes = {1, 3, 7};
  const auto draws = curve_draws(options, sizes, 4, 11);
  ASSERT_EQ(draws.size(), 9U);  // all rows are drawn once only
  for (const CurveDraw& draw : draws) {
    EXPECT_TRUE(std::is_sorted(draw.rows.begin(), draw.rows.end()));
    EXPECT_EQ(std::adjacent_find(draw.rows.begin(), draw.rows.end()), draw.rows.end());
    std::map<std::size_t, std::size_t> counts;
    for (const std::size_t row : draw.rows) counts[options[row]]++;
    EXPECT_EQ(counts[0], draw.size);
    EXPECT_EQ(counts[2], std::min<std::size_t>(draw.size, 2));
    EXPECT_EQ(draw.labels, static_cast<double>(draw.rows.size()) / 2);
  }
  bool differ = false;
  for (std::size_t repeat = 0; repeat < 4; repeat++) {
    const auto &small = draws[repeat].rows, &large = draws[4 + repeat].rows;
    EXPECT_TRUE(std::includes(large.begin(), large.end(), small.begin(), small.end()));
    differ = differ || draws[4 + repeat].rows != draws[4].rows;
  }
  EXPECT_TRUE(differ);
  EXPECT_EQ(curve_draws(options, sizes, 4, 11)[5].rows, draws[5].rows);
  EXPECT_TRUE(curve_draws({}, sizes, 4, 11).empty());
}

}  // namespace
}  // namespace assay::teach
