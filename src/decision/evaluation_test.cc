#include "assay/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

// A two-option outcome that predicts option 0 with this probability.
Outcome predicted(double probability, bool right) {
  return Outcome{.probabilities = {probability, 1 - probability}, .expected = right ? 0u : 1u, .predicted = 0};
}

TEST(Accuracy, IsTheShareOfRightPredictions) {
  const std::vector<Outcome> outcomes = {predicted(0.9, true), predicted(0.6, false), predicted(0.7, true),
                                         predicted(0.8, true)};
  EXPECT_DOUBLE_EQ(accuracy(outcomes), 0.75);
  EXPECT_EQ(accuracy({}), 0);
}

TEST(Brier, IsZeroWhenCertainAndRightAndTwoWhenCertainAndWrong) {
  EXPECT_EQ(brier_score(std::vector<Outcome>{predicted(1, true)}), 0);
  EXPECT_EQ(brier_score(std::vector<Outcome>{predicted(1, false)}), 2);
  EXPECT_EQ(brier_score(std::vector<Outcome>{predicted(1, true), predicted(1, false)}), 1);
  EXPECT_EQ(brier_score({}), 0);
}

TEST(Brier, SumsOverAllOptions) {
  // (0.5 - 1)^2 + 0.3^2 + 0.2^2 = 0.25 + 0.09 + 0.04
  const std::vector<Outcome> outcomes = {{.probabilities = {0.5, 0.3, 0.2}, .expected = 0, .predicted = 0}};
  EXPECT_DOUBLE_EQ(brier_score(outcomes), 0.38);
}

TEST(LogLoss, IsTheMeanOfMinusTheLogarithmsAndFinite) {
  const std::vector<Outcome> outcomes = {predicted(0.75, true), predicted(0.75, false)};
  EXPECT_NEAR(log_loss(outcomes), (-std::log(0.75) - std::log(0.25)) / 2, 1e-15);
  EXPECT_NEAR(log_loss(std::vector<Outcome>{predicted(1, false)}), 52 * std::log(2.0), 1e-12);
  EXPECT_EQ(log_loss(std::vector<Outcome>{predicted(1, true)}), 0);
  EXPECT_EQ(log_loss({}), 0);
}

TEST(ReliabilityBins, CoverZeroToOneInEqualSteps) {
  const auto bins = reliability_bins({}, 4);
  ASSERT_EQ(bins.size(), 4u);
  EXPECT_EQ(bins[0].low, 0);
  EXPECT_EQ(bins[1].low, 0.25);
  EXPECT_EQ(bins[1].high, 0.5);
  EXPECT_EQ(bins[3].high, 1);
  EXPECT_EQ(bins[3].count, 0u);
}

TEST(ReliabilityBins, PutAnEdgeIntoTheBinAboveItAndOneIntoTheLast) {
  const std::vector<Outcome> outcomes = {predicted(0.7, true), predicted(1, true), predicted(0.9, false)};
  const auto bins = reliability_bins(outcomes);
  EXPECT_EQ(bins[6].count, 0u);
  EXPECT_EQ(bins[7].count, 1u);
  EXPECT_EQ(bins[9].count, 2u);
  EXPECT_DOUBLE_EQ(bins[9].confidence, 0.95);
  EXPECT_DOUBLE_EQ(bins[9].accuracy, 0.5);
}

TEST(ReliabilityBins, PutEveryEdgeRightForAnyBinCount) {
  for (std::size_t count = 1; count <= 100; count++) {
    for (std::size_t b = 0; b < count; b++) {
      const double edge = static_cast<double>(b) / static_cast<double>(count);
      const std::vector<Outcome> outcomes = {predicted(edge, true)};
      EXPECT_EQ(reliability_bins(outcomes, count)[b].count, 1u) << b << " of " << count;
    }
  }
}

TEST(ReliabilityBins, TakeTheProbabilityOfThePredictedOption) {
  // The answer given need not be the highest: a label-only system may break ties its own way.
  const std::vector<Outcome> outcomes = {{.probabilities = {0.65, 0.35}, .expected = 1, .predicted = 1}};
  EXPECT_EQ(reliability_bins(outcomes)[3].count, 1u);
}

TEST(CalibrationError, IsZeroWhenEachBinIsAsRightAsItIsConfident) {
  const std::vector<Outcome> outcomes = {predicted(0.75, true), predicted(0.75, true), predicted(0.75, true),
                                         predicted(0.75, false), predicted(1, true)};
  EXPECT_DOUBLE_EQ(expected_calibration_error(outcomes), 0);
}

TEST(CalibrationError, WithoutWhatChanceAdds) {
  // Confidence 1, two of four right: 1/4 less what four draws vary by, (1/4) / 3.
  const std::vector<Outcome> half = {predicted(1, true), predicted(1, true), predicted(1, false), predicted(1, false)};
  EXPECT_DOUBLE_EQ(debiased_calibration_error(half), std::sqrt(1.0 / 6));
  // Two of three: 1/9 - (2/9) / 2. The bin with one row has no say.
  EXPECT_NEAR(debiased_calibration_error(std::vector<Outcome>{predicted(1, true), predicted(1, true),
                                                              predicted(1, false), predicted(0.5, true)}),
              0, 1e-8);
  EXPECT_EQ(debiased_calibration_error({}), 0);
  EXPECT_EQ(debiased_calibration_error(std::vector<Outcome>{predicted(0.5, true)}), 0);
}

TEST(CalibrationError, WeighsBinsByTheirCount) {
  // Bin 9: three rows, confidence 1, accuracy 2/3. Bin 5: one row, confidence 0.5, accuracy 1.
  // 3/4 * 1/3 + 1/4 * 1/2 = 0.375
  const std::vector<Outcome> outcomes = {predicted(1, true), predicted(1, true), predicted(1, false),
                                         predicted(0.5, true)};
  EXPECT_DOUBLE_EQ(expected_calibration_error(outcomes), 0.375);
  EXPECT_EQ(expected_calibration_error({}), 0);
}

TEST(Percentile, IsLinearBetweenSortedValues) {
  EXPECT_DOUBLE_EQ(percentile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile({10, 20}, 0.25), 12.5);
  EXPECT_DOUBLE_EQ(percentile({0, 1, 2, 3, 4}, 0.95), 3.8);
}

TEST(Percentile, HasAnAnswerForTheEdges) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({7}, 0), 7);
  EXPECT_EQ(percentile({7}, 0.5), 7);
  EXPECT_EQ(percentile({7}, 1), 7);
  EXPECT_EQ(percentile({3, 1, 2}, 0), 1);
  EXPECT_EQ(percentile({3, 1, 2}, 1), 3);
  EXPECT_EQ(percentile({5, 5, 5}, 0.3), 5);
}

}  // namespace
}  // namespace assay
