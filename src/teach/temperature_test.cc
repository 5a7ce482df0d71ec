#include "teach/temperature.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace assay::teach {
namespace {

// Rows that own their scores.
struct Rows {
  std::vector<std::vector<double>> scores;
  std::vector<std::size_t> expected;

  void add(const std::vector<double>& row, std::size_t right, int times = 1) {
    for (int i = 0; i < times; i++) scores.push_back(row);
    for (int i = 0; i < times; i++) expected.push_back(right);
  }
  std::vector<ScoredLabel> labels() const {
    std::vector<ScoredLabel> out;
    for (std::size_t i = 0; i < scores.size(); i++) out.push_back({scores[i], expected[i]});
    return out;
  }
};

TEST(FitTemperature, FindsWhatMakesTheConfidenceTheShareOfRightAnswers) {
  Rows rows;  // Scores say e^2 : 1 each time; right in 3 of 4: ln 3 is meant.
  rows.add({2, 0}, 0, 3);
  rows.add({2, 0}, 1, 1);
  EXPECT_NEAR(fit_temperature(rows.labels(), 0), 2 / std::log(3.0), 1e-9);
  rows.add({2, 0}, 0, 300);
  rows.add({2, 0}, 1, 100);
  // With 404 rows, the prior's one hardly counts.
  EXPECT_NEAR(fit_temperature(rows.labels()), 2 / std::log(3.0), 0.01);
}

TEST(FitTemperature, IsOneWhereNothingDependsOnIt) {
  EXPECT_EQ(fit_temperature({}), 1);
  EXPECT_EQ(fit_temperature({}, 0), 1);
  Rows rows;
  rows.add({3}, 0, 4);
  rows.add({2, 2}, 1, 4);
  EXPECT_EQ(fit_temperature(rows.labels(), 0), 1);
  EXPECT_EQ(fit_temperature(rows.labels()), 1);
}

TEST(FitTemperature, StaysInItsRangeForSeparableRows) {
  Rows right;
  right.add({1, 0}, 0, 100);
  EXPECT_LT(fit_temperature(right.labels(), 0), 0.02);  // the loss is 0 in double long before the end of the range
  EXPECT_GE(fit_temperature(right.labels(), 0), kTemperatureMin);
  const double with_prior = fit_temperature(right.labels());
  EXPECT_GT(with_prior, 0.1);
  EXPECT_LT(with_prior, 0.5);
  Rows wrong;
  wrong.add({1, 0}, 1, 100);
  EXPECT_NEAR(fit_temperature(wrong.labels(), 0), kTemperatureMax, 1e-4);
  Rows one;
  one.add({1, 0}, 0);
  // The root of 1 - 1/b = 1 / (1 + e^b), 1.27846: 0.2178 on both sides.
  EXPECT_NEAR(1 / fit_temperature(one.labels()), 1.27846, 1e-4);
}

TEST(FitTemperature, BearsHugeScores) {
  Rows rows;
  rows.add({1e6, 0}, 0, 10);
  rows.add({1e6, 0}, 1, 1);
  const double temperature = fit_temperature(rows.labels());
  EXPECT_TRUE(std::isfinite(temperature));
  EXPECT_NEAR(temperature, kTemperatureMax, 1e-6);
  EXPECT_TRUE(std::isfinite(log_loss_at(rows.labels(), temperature)));
}

TEST(LogLossAt, IsTheMeanOfMinusTheLogarithms) {
  Rows rows;
  rows.add({std::log(3.0), 0}, 0);
  rows.add({std::log(3.0), 0}, 1);
  EXPECT_NEAR(log_loss_at(rows.labels(), 1), (-std::log(0.75) - std::log(0.25)) / 2, 1e-15);
  EXPECT_EQ(log_loss_at({}, 1), 0);
}

// No temperature near the one that was found has a smaller loss, prior included.
TEST(FitTemperature, FindsTheSmallestLoss) {
  constexpr unsigned kSeed = 20261130;
  std::mt19937 random(kSeed);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 300; round++) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(kSeed));
    Rows rows;
    const double size = std::exp(2 * normal(random));
    for (std::size_t n = 1 + random() % 40; n > 0; n--) {
      std::vector<double> scores(1 + random() % 6);
      for (double& score : scores) score = size * normal(random);
      const std::size_t expected = random() % scores.size();
      rows.add(scores, expected);
    }
    const auto labels = rows.labels();
    const double prior = round % 2 == 0 ? kTemperaturePrior : 0;
    const auto loss = [&](double temperature) {
      return log_loss_at(labels, temperature) * static_cast<double>(labels.size()) +
             prior * (1 / temperature + std::log(temperature));
    };
    const double found = fit_temperature(labels, prior);
    ASSERT_GE(found, kTemperatureMin * (1 - 1e-9));
    ASSERT_LE(found, kTemperatureMax * (1 + 1e-9));
    for (const double factor : {0.5, 0.9, 0.999, 1.001, 1.1, 2.0}) {
      const double other = found * factor;
      if (other < kTemperatureMin || other > kTemperatureMax) continue;
      ASSERT_LE(loss(found), loss(other) + 1e-9 * std::abs(loss(other))) << factor;
    }
  }
}

}  // namespace
}  // namespace assay::teach
