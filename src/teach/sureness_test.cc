#include "teach/sureness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace assay::teach {
namespace {

std::vector<SurenessRow> copies(std::size_t right, std::size_t wrong, double evidence, std::size_t options) {
  std::vector<SurenessRow> rows(right, SurenessRow{evidence, options, true});
  rows.insert(rows.end(), wrong, SurenessRow{evidence, options, false});
  return rows;
}

TEST(Evidence, IsWhatStandsAboveGuessing) {
  EXPECT_NEAR(evidence_of(std::vector<double>{2, 2, 2, 2}), 0, 1e-12);
  // 3 / 4 against 1 / 4: odds of 3.
  EXPECT_NEAR(evidence_of(std::vector<double>{std::log(0.25), std::log(0.75)}), std::log(3), 1e-12);
  // A half among five options: odds of 1, where guessing has 1 / 4.
  EXPECT_NEAR(evidence_of(std::vector<double>{std::log(4), 0, 0, 0, 0}), std::log(4), 1e-12);
  EXPECT_EQ(evidence_of(std::vector<double>{0, 1000}), kEvidenceMax);
}

TEST(SureProbability, LeavesAloneOrGuesses) {
  const double evidence = evidence_of(std::vector<double>{std::log(0.6), std::log(0.3), std::log(0.1)});
  EXPECT_NEAR(sure_probability({1, 0}, evidence, 3), 0.6, 1e-12);
  EXPECT_NEAR(sure_probability({0, 0}, evidence, 3), 1.0 / 3, 1e-12);
  EXPECT_NEAR(sure_probability({0, -5}, evidence, 3), 1.0 / 3, 1e-12);  // no less than guessing
  EXPECT_NEAR(sure_probability({0, std::log(2)}, evidence, 3), 0.5, 1e-12);
  EXPECT_EQ(sure_probability({1000, 1000}, evidence, 3), 1);
}

TEST(FitSureness, HasWhatTheRowsShow) {
  // Two kinds of rows, two numbers: both shares are met. Odds 3 at evidence 1, odds 1 at evidence 0, two options.
  auto rows = copies(300, 100, 1, 2);
  const auto more = copies(200, 200, 0, 2);
  rows.insert(rows.end(), more.begin(), more.end());
  const Sureness found = fit_sureness(rows, {.slope_weight = 0, .shift_weight = 0});
  EXPECT_NEAR(found.slope, std::log(3), 1e-8);
  EXPECT_NEAR(found.shift, 0, 1e-8);
  // Four options: what guessing has is the offset.
  const Sureness guess = fit_sureness(copies(100, 300, 0, 4), {.slope_weight = 1, .shift_weight = 0});
  EXPECT_NEAR(guess.shift, 0, 1e-8);
  EXPECT_NEAR(guess.slope, 1, 1e-8);
}

TEST(FitSureness, FewRowsStayNearTheirParent) {
  EXPECT_EQ(fit_sureness({}, {}).slope, 1);
  const SurenessPrior parent{.parent = {0.3, -0.2}};
  EXPECT_NEAR(fit_sureness({}, parent).slope, 0.3, 1e-12);
  const Sureness few = fit_sureness(copies(3, 0, 2, 2), parent);
  EXPECT_GT(few.slope, 0.3);
  EXPECT_LT(few.slope, 1);
  // As many as the prior is worth, and then many: further away each time.
  EXPECT_GT(fit_sureness(copies(300, 0, 2, 2), parent).slope, few.slope);
}

TEST(FitSureness, MoreEvidenceNeverMeansLess) {
  auto rows = copies(10, 90, 5, 4);
  const auto more = copies(90, 10, 0.1, 4);
  rows.insert(rows.end(), more.begin(), more.end());
  const Sureness found = fit_sureness(rows, {.slope_weight = 0.01, .shift_weight = 0});
  EXPECT_EQ(found.slope, 0);
  EXPECT_NEAR(sure_probability(found, 5, 4), 0.5, 1e-6);  // half of all
}

TEST(FitSureness, BearsExtremes) {
  for (const bool right : {true, false}) {
    const std::vector<SurenessRow> rows(100, SurenessRow{kEvidenceMax, 2, right});
    const Sureness held = fit_sureness(rows, {});
    EXPECT_TRUE(std::isfinite(held.slope) && std::isfinite(held.shift));
    const Sureness free = fit_sureness(rows, {.slope_weight = 0, .shift_weight = 0});
    EXPECT_TRUE(std::isfinite(free.slope) && std::isfinite(free.shift));
  }
}

}  // namespace
}  // namespace assay::teach
