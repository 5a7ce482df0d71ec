#include "teach/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "teach/apply.h"

namespace assay::teach {
namespace {

std::vector<CalibrationRow> repeat(const CalibrationRow& row, int times) {
  return std::vector<CalibrationRow>(static_cast<std::size_t>(times), row);
}

void append(std::vector<CalibrationRow>& rows, const std::vector<CalibrationRow>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

CalibrateResult fitted(const std::vector<CalibrationRow>& rows, const CalibrateOptions& options = {}) {
  auto result = calibrate(rows, options);
  EXPECT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->before.size(), rows.size());
  EXPECT_EQ(result->after.size(), rows.size());
  for (const Calibration& one : result->calibrations) EXPECT_TRUE(check_calibration(one).ok());
  return std::move(*result);
}

// Rows whose scores are `factor` times the logarithms of the probabilities that the labels are drawn with.
std::vector<CalibrationRow> drawn(std::size_t count, std::size_t option_count, double factor, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<CalibrationRow> rows;
  for (std::size_t i = 0; i < count; i++) {
    CalibrationRow row;
    for (std::size_t k = 0; k < option_count; k++) row.scores.push_back(2 * normal(random));
    std::vector<double> weights;
    for (const double score : row.scores) weights.push_back(std::exp(score));
    row.expected = std::discrete_distribution<std::size_t>(weights.begin(), weights.end())(random);
    for (double& score : row.scores) score *= factor;
    rows.push_back(row);
  }
  return rows;
}

TEST(Calibrate, FindsTheTemperatureThatTheScoresWereSpoiltWith) {
  std::mt19937 random(20261130);
  const auto result = fitted(drawn(3000, 4, 3, random), {.readout = "letters"});
  ASSERT_EQ(result.calibrations.size(), 1U);
  const Calibration& made = result.calibrations[0];
  EXPECT_NEAR(made.temperature, 3, 0.25);
  EXPECT_EQ(made.readout, "letters");
  EXPECT_EQ(made.type, "choice");
  EXPECT_EQ(made.options_min, 2U);
  EXPECT_EQ(made.options_max, 1024U);
  EXPECT_EQ(made.rows, 3000U);
  EXPECT_TRUE(made.isotonic.empty());  // the temperature says it all
  EXPECT_GT(made.ece_before, 0.1);
  EXPECT_LT(made.ece_after, 0.04);
  EXPECT_LT(made.log_loss_after, made.log_loss_before);
  EXPECT_LT(made.brier_after, made.brier_before);
  EXPECT_DOUBLE_EQ(made.ece_after, expected_calibration_error(result.after));
  EXPECT_DOUBLE_EQ(made.log_loss_before, log_loss(result.before));
}

TEST(Calibrate, BelievesEvidenceNoMoreThanItIsWorth) {
  // Sure or not, 6 of 10 are right: no temperature says that of four options without losing all that is right in them.
  std::vector<CalibrationRow> rows;
  for (int i = 0; i < 30; i++) {
    append(rows, repeat({.scores = {8, 0, 1, 0}, .expected = 0}, 6));
    append(rows, repeat({.scores = {8, 0, 1, 0}, .expected = 2}, 4));
    append(rows, repeat({.scores = {0.5, 0, 0, 0}, .expected = 0}, 6));
    append(rows, repeat({.scores = {0.5, 0, 0, 0}, .expected = 3}, 4));
  }
  const auto result = fitted(rows);
  ASSERT_EQ(result.calibrations.size(), 1U);
  EXPECT_LT(result.calibrations[0].slope, 0.2);
  EXPECT_LT(result.calibrations[0].ece_after, 0.05);
  for (const Outcome& outcome : result.after) EXPECT_NEAR(outcome.probabilities[0], 0.6, 0.08);
}

TEST(Calibrate, SaysOfSureAnswersThatAreRightLessOftenWhatBothAreTogether) {
  // Very sure answers are right in 6 of 10, hesitant ones in 9 of 10; what is surer is never taken for less likely.
  std::vector<CalibrationRow> rows;
  for (int i = 0; i < 50; i++) {
    append(rows, repeat({.scores = {5, 0}, .expected = 0}, 6));
    append(rows, repeat({.scores = {5, 0}, .expected = 1}, 4));
    append(rows, repeat({.scores = {0.5, 0}, .expected = 0}, 9));
    append(rows, repeat({.scores = {0.5, 0}, .expected = 1}, 1));
  }
  const auto result = fitted(rows);
  ASSERT_EQ(result.calibrations.size(), 1U);
  EXPECT_LT(result.calibrations[0].ece_after, 0.02);
  for (const Outcome& outcome : result.after) EXPECT_NEAR(outcome.probabilities[0], 0.75, 0.05);
}

TEST(Calibrate, MapsWhatNoTwoNumbersCanMend) {
  // Right in 6 of 10 up to a point, and beyond it in 19 of 20.
  std::vector<CalibrationRow> rows;
  for (int i = 0; i < 60; i++) {
    for (const double score : {1.0, 2.0, 3.0, 4.0, 5.0}) {
      append(rows, repeat({.scores = {score, 0}, .expected = 0}, 6));
      append(rows, repeat({.scores = {score, 0}, .expected = 1}, 4));
    }
    append(rows, repeat({.scores = {5.5, 0}, .expected = 0}, 19));
    append(rows, repeat({.scores = {5.5, 0}, .expected = 1}, 1));
  }
  const auto result = fitted(rows);
  ASSERT_EQ(result.calibrations.size(), 1U);
  EXPECT_FALSE(result.calibrations[0].isotonic.empty());
  EXPECT_LT(result.calibrations[0].ece_after, 0.02);
  auto few = rows;
  few.resize(199);
  EXPECT_TRUE(fitted(few).calibrations[0].isotonic.empty());
}

TEST(Calibrate, FewRowsOfAKindTakeWhatTheOthersShow) {
  std::mt19937 random(5);
  auto rows = drawn(600, 4, 3, random);
  auto scales = drawn(8, 4, 3, random);
  for (CalibrationRow& row : scales) row.type = QuestionType::kScale;
  append(rows, scales);
  const auto result = fitted(rows, {.readout = "text"});
  EXPECT_NEAR(find_calibration(result.calibrations, "text", "scale", 4)->temperature, 3, 1);
}

TEST(Calibrate, GivesEachBucketWithRowsEnoughItsOwn) {
  std::mt19937 random(1);
  std::vector<CalibrationRow> rows = drawn(400, 2, 4, random);
  append(rows, drawn(400, 5, 1, random));
  append(rows, drawn(49, 20, 1, random));
  auto yes_no = drawn(30, 2, 1, random);
  for (CalibrationRow& row : yes_no) row.type = QuestionType::kYesNo;
  append(rows, yes_no);
  const auto result = fitted(rows, {.readout = "text"});
  ASSERT_EQ(result.calibrations.size(), 5U);
  const auto& all = result.calibrations;
  EXPECT_EQ(find_calibration(all, "text", "choice", 2)->rows, 400U);
  EXPECT_NEAR(find_calibration(all, "text", "choice", 2)->temperature, 4, 1);
  EXPECT_NEAR(find_calibration(all, "text", "choice", 3)->temperature, 1, 0.3);
  EXPECT_EQ(find_calibration(all, "text", "choice", 20)->rows, 49U);  // too few for a bucket, not for an option count
  EXPECT_EQ(find_calibration(all, "text", "choice", 21)->rows, 849U);
  EXPECT_EQ(find_calibration(all, "text", "choice", 100)->rows, 849U);
  EXPECT_EQ(find_calibration(all, "text", "yes_no", 2)->rows, 30U);
  EXPECT_EQ(find_calibration(all, "text", "scale", 2), nullptr);
}

TEST(Calibrate, HasAnAnswerForFewAndExtremeRows) {
  EXPECT_TRUE(fitted({}).calibrations.empty());
  // A single row: out of its fold there is nothing, so it stays as it is.
  const auto one = fitted({{.scores = {2, 0}, .expected = 0}});
  ASSERT_EQ(one.calibrations.size(), 1U);
  EXPECT_EQ(one.after[0].probabilities, one.before[0].probabilities);
  EXPECT_GT(one.calibrations[0].temperature, 0.5);
  for (const std::size_t expected : {0U, 1U}) {  // all right, all wrong
    const auto result = fitted(repeat({.scores = {2, 0}, .expected = expected}, 300));
    ASSERT_EQ(result.calibrations.size(), 1U);
    EXPECT_TRUE(result.calibrations[0].isotonic.empty());
    EXPECT_LT(result.calibrations[0].log_loss_after, result.calibrations[0].log_loss_before);
    EXPECT_EQ(result.after[0].predicted, 0U);
  }
  // One option alone teaches nothing, and its probability is 1.
  const auto single = fitted(repeat({.scores = {-3}, .expected = 0}, 5));
  EXPECT_TRUE(single.calibrations.empty());
  EXPECT_EQ(single.after[4].probabilities, std::vector<double>{1});
}

TEST(Calibrate, NeverChangesAnAnswer) {
  std::mt19937 random(3);
  const auto result = fitted(drawn(500, 3, 0.2, random));
  for (std::size_t i = 0; i < result.before.size(); i++)
    EXPECT_EQ(result.before[i].predicted, result.after[i].predicted);
}

TEST(Calibrate, IsOfTheSeedAlone) {
  std::mt19937 random(4);
  const auto rows = drawn(300, 3, 2, random);
  EXPECT_EQ(fitted(rows, {.seed = 1}).calibrations[0].ece_after, fitted(rows, {.seed = 1}).calibrations[0].ece_after);
  EXPECT_NE(fitted(rows, {.seed = 1}).calibrations[0].ece_after, fitted(rows, {.seed = 2}).calibrations[0].ece_after);
}

TEST(Calibrate, NamesTheRowThatIsWrong) {
  const CalibrationRow good{.scores = {1, 0}, .expected = 0};
  const auto field = [&](const CalibrationRow& bad) {
    return calibrate(std::vector<CalibrationRow>{good, bad}, {}).error().field;
  };
  EXPECT_EQ(field({.scores = {}, .expected = 0}), "rows[1].scores");
  EXPECT_EQ(field({.scores = {1, NAN}, .expected = 0}), "rows[1].scores");
  EXPECT_EQ(field({.scores = std::vector<double>(1025), .expected = 0}), "rows[1].scores");
  EXPECT_EQ(field({.scores = {1, 0}, .expected = 2}), "rows[1].expected");
  EXPECT_EQ(calibrate(std::vector<CalibrationRow>{good}, {.folds = 1}).error().field, "folds");
}

}  // namespace
}  // namespace assay::teach
