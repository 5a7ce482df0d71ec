#include "teach/lift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "teach/apply.h"

namespace assay::teach {
namespace {

// Of two options; `right` says whether the first, which is answered with this confidence, is the right one.
Outcome answer(double confidence, bool right) {
  return {.probabilities = {confidence, 1 - confidence}, .expected = right ? 0U : 1U, .predicted = 0};
}

TEST(Lift, AWrongAnswerCountsLessTheMoreItsOwnRowIsMissed) {
  const std::vector<Outcome> outcomes = {answer(0.75, true), answer(0.75, false), answer(0.75, true),
                                         answer(0.75, false)};
  const std::vector<std::size_t> rows = {2, 2, 4, 4};
  const Lift lift = lift_of(outcomes, rows);
  EXPECT_DOUBLE_EQ(lift.accuracy_left_out, 0.5);
  EXPECT_DOUBLE_EQ(lift.accuracy, 1 - (std::sqrt(0.5) + std::sqrt(0.75)) / 4);
  // What the confidence leaves to 1 falls as the share of wrong answers does.
  const double confidence = raised(outcomes[0], lift.shift).probabilities[0];
  EXPECT_NEAR((1 - confidence) / 0.25, (1 - lift.accuracy) / 0.5, 1e-9);
}

TEST(Lift, ManyRowsAndRightAnswersMoveNothing) {
  const std::vector<Outcome> right(10, answer(0.9, true));
  EXPECT_EQ(lift_of(right, std::vector<std::size_t>(10, 2)).shift, 0);
  const std::vector<Outcome> half = {answer(0.6, true), answer(0.6, false)};
  EXPECT_GT(lift_of(half, std::vector<std::size_t>(2, 4)).shift, 0);
  EXPECT_EQ(lift_of(half, std::vector<std::size_t>(2, 5)).shift, 0);
  EXPECT_EQ(lift_of({}, {}).shift, 0);
}

TEST(Lift, SureAnswersThatAreWrongDoNotMakeItEndless) {
  const std::vector<Outcome> sure(4, answer(1, false));
  const Lift lift = lift_of(sure, std::vector<std::size_t>(4, 2));
  EXPECT_EQ(lift.shift, 0);
  EXPECT_DOUBLE_EQ(lift.accuracy, 1 - std::sqrt(0.5));
}

TEST(Lift, ARaisedCalibrationAnswersAsARaisedOutcome) {
  const std::vector<double> scores = {1.5, 0.25, -0.5};
  Calibration calibration;
  calibration.temperature = 2;
  calibration.slope = 0.75;
  calibration.shift = 0.125;
  for (const bool with_map : {false, true}) {
    if (with_map) calibration.isotonic = {{0, 0.25}, {0.5, 0.5}, {1, 0.9}};
    const auto before = calibrated(calibration, scores);
    ASSERT_TRUE(before.ok());
    Calibration up = calibration;
    raise(up, 0.5);
    ASSERT_TRUE(check_calibration(up).ok());
    const auto after = calibrated(up, scores);
    ASSERT_TRUE(after.ok());
    const Outcome outcome = raised({.probabilities = *before, .expected = 0, .predicted = 0}, 0.5);
    // Between two knots a map is a line on either axes, so there they are near each other and not equal. The others'
    // parts of the rest depend on the way there.
    EXPECT_NEAR((*after)[0], outcome.probabilities[0], with_map ? 0.02 : 1e-9) << with_map;
    EXPECT_NEAR(outcome.probabilities[0] + outcome.probabilities[1] + outcome.probabilities[2], 1, 1e-12);
    EXPECT_GT((*after)[0], (*before)[0]);
  }
}

TEST(Lift, NoShiftLeavesAllAsItIs) {
  Calibration calibration;
  calibration.isotonic = {{0.25, 0.5}, {0.75, 0.5}};
  raise(calibration, 0);
  EXPECT_EQ(calibration.shift, 0);
  EXPECT_EQ(calibration.isotonic.size(), 2U);
  EXPECT_EQ(raised(answer(0.75, true), 0).probabilities[0], 0.75);
}

}  // namespace
}  // namespace assay::teach
