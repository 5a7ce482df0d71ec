#include "teach/isotonic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace assay::teach {
namespace {

TEST(Interpolate, IsLinearBetweenAndConstantOutside) {
  const Knots knots = {{0.2, 0.1}, {0.4, 0.5}, {0.6, 0.5}};
  EXPECT_DOUBLE_EQ(interpolate(knots, 0), 0.1);
  EXPECT_DOUBLE_EQ(interpolate(knots, 0.2), 0.1);
  EXPECT_NEAR(interpolate(knots, 0.25), 0.2, 1e-15);
  EXPECT_DOUBLE_EQ(interpolate(knots, 0.4), 0.5);
  EXPECT_DOUBLE_EQ(interpolate(knots, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(interpolate(knots, 9), 0.5);
  EXPECT_DOUBLE_EQ(interpolate(Knots{{0.5, 0.7}}, 0.1), 0.7);
}

TEST(FitIsotonic, PoolsWhatFalls) {
  const std::vector<WeightedPoint> points = {{3, 4}, {1, 1}, {2, 5}, {4, 6}};
  EXPECT_EQ(fit_isotonic(points), (Knots{{1, 1}, {2, 4.5}, {3, 4.5}, {4, 6}}));
}

TEST(FitIsotonic, PoolsBackAsFarAsNeeded) {
  const std::vector<WeightedPoint> points = {{1, 3}, {2, 4}, {3, 5}, {4, 0}};
  EXPECT_EQ(fit_isotonic(points), (Knots{{1, 3}, {4, 3}}));
}

TEST(FitIsotonic, WeighsPoints) {
  const std::vector<WeightedPoint> points = {{1, 4, 3}, {2, 0, 1}};
  EXPECT_EQ(fit_isotonic(points), (Knots{{1, 3}, {2, 3}}));
}

TEST(FitIsotonic, TakesPointsOfOneXAsOne) {
  const std::vector<WeightedPoint> points = {{1, 0}, {2, 1}, {2, 0}, {2, 1}, {2, 0}, {3, 1}};
  EXPECT_EQ(fit_isotonic(points), (Knots{{1, 0}, {2, 0.5}, {3, 1}}));
}

TEST(FitIsotonic, HasAnAnswerForTheEdges) {
  EXPECT_TRUE(fit_isotonic({}).empty());
  EXPECT_EQ(fit_isotonic(std::vector<WeightedPoint>{{0.3, 1}}), (Knots{{0.3, 1}}));
  EXPECT_EQ(fit_isotonic(std::vector<WeightedPoint>{{1, 1}, {2, 1}}), (Knots{{1, 1}, {2, 1}}));
}

// The map is the only one for which, from either end of a block, no part of it would rather go elsewhere: the mean of
// the first points of a block is not below its value, that of the last ones not above.
TEST(FitIsotonic, IsTheLeastSquaresFit) {
  constexpr unsigned kSeed = 20261130;
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 500; round++) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(kSeed));
    std::vector<WeightedPoint> points;
    for (std::size_t n = 1 + random() % 30; n > 0; n--)
      points.push_back({unit(random), unit(random), 0.1 + unit(random)});
    const Knots knots = fit_isotonic(points);
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    for (std::size_t k = 1; k < knots.size(); k++) {
      ASSERT_GT(knots[k].first, knots[k - 1].first);
      ASSERT_GE(knots[k].second, knots[k - 1].second);
    }
    for (std::size_t begin = 0; begin < points.size();) {
      const double value = interpolate(knots, points[begin].x);
      double sum = 0;
      double weight = 0;
      std::size_t end = begin;
      for (; end < points.size() && interpolate(knots, points[end].x) == value; end++) {
        sum += points[end].weight * points[end].y;
        weight += points[end].weight;
        ASSERT_GE(sum / weight, value - 1e-12);
      }
      ASSERT_NEAR(sum / weight, value, 1e-12);
      begin = end;
    }
  }
}

}  // namespace
}  // namespace assay::teach
