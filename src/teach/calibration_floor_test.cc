#include "teach/calibration_floor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::teach {
namespace {

std::vector<Outcome> answers(std::size_t count, double confidence) {
  return std::vector<Outcome>(count,
                              Outcome{.probabilities = {1 - confidence, confidence}, .expected = 0, .predicted = 1});
}

TEST(CalibrationFloor, IsWhatOneBinOfSoManyShows) {
  // Half a normal distribution: its mean is sqrt(2 / pi) times the standard error, 5 % are above 1.96 and below 0.0627.
  const CalibrationFloor floor = calibration_floor(answers(400, 0.3), 1, 4000);
  const double error = std::sqrt(0.3 * 0.7 / 400);
  EXPECT_NEAR(floor.mean, std::sqrt(2 / M_PI) * error, 0.04 * error);
  EXPECT_NEAR(floor.high, 1.96 * error, 0.12 * error);
  EXPECT_NEAR(floor.low, 0.0627 * error, 0.12 * error);
}

TEST(CalibrationFloor, FallsWithTheRowsAndRisesWithTheBins) {
  const double few = calibration_floor(answers(100, 0.5), 1).mean;
  EXPECT_NEAR(calibration_floor(answers(400, 0.5), 1).mean, few / 2, 0.1 * few);
  // The same number of rows over four bins: each error is twice as large.
  std::vector<Outcome> spread;
  for (const double confidence : {0.45, 0.55, 0.65, 0.75}) {
    const auto part = answers(25, confidence);
    spread.insert(spread.end(), part.begin(), part.end());
  }
  EXPECT_GT(calibration_floor(spread, 1).mean, 1.7 * few);
  EXPECT_LT(calibration_floor(spread, 1).mean, 2.1 * few);
}

TEST(CalibrationFloor, KnowsNothingOfTheLabels) {
  std::vector<Outcome> right = answers(50, 0.8);
  for (Outcome& outcome : right) outcome.expected = 1;
  const CalibrationFloor one = calibration_floor(answers(50, 0.8), 7);
  const CalibrationFloor other = calibration_floor(right, 7);
  EXPECT_EQ(one.mean, other.mean);
  EXPECT_EQ(one.high, other.high);
  EXPECT_NE(one.mean, calibration_floor(right, 8).mean);
}

TEST(CalibrationFloor, HasAnAnswerForExtremes) {
  EXPECT_EQ(calibration_floor({}, 1).mean, 0);
  EXPECT_EQ(calibration_floor(answers(10, 1), 1).high, 0);  // sure and right in each draw
  EXPECT_GT(calibration_floor(answers(1, 0.5), 1).mean, 0.4);
}

}  // namespace
}  // namespace assay::teach
