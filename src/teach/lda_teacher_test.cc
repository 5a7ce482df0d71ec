#include "teach/lda_teacher.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "teach/apply.h"
#include "teach/features.h"
#include "teach/teaching_rows.h"

namespace assay::teach {
namespace {

constexpr unsigned kSeed = 20261130;

std::vector<TeachingRow> drawn(std::size_t count, std::size_t options, std::size_t width, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<TeachingRow> rows;
  for (std::size_t i = 0; i < count; i++) {
    TeachingRow row;
    row.option = random() % options;
    std::vector<float> x;
    for (std::size_t d = 0; d < width; d++) {
      x.push_back(static_cast<float>(normal(random) * (1.0 + static_cast<double>(d % 3)) + (d == row.option ? 2 : 0)));
    }
    row.by_cue = {{7}, x};
    rows.push_back(row);
  }
  rows[0].option = 0;
  rows[1].option = 0;
  rows[2].option = 1;
  return rows;
}

std::vector<double> scores_of(const LinearHead& head, const TeachingRow& row, std::size_t option_count) {
  const std::vector<double> flat(option_count, -std::log(static_cast<double>(option_count)));
  const auto scores = head_scores(head, row.by_cue[1], option_count, flat);
  EXPECT_TRUE(scores.ok()) << scores.error().message;
  return scores.ok() ? *scores : std::vector<double>(option_count);
}

// A fit of its own to all rows, with what open() found for the first ones held.
LinearHead fresh(const std::vector<TeachingRow>& rows, std::size_t first, double shrinkage) {
  std::vector<float> x;
  std::vector<std::size_t> labels;
  for (const TeachingRow& row : rows) x.insert(x.end(), row.by_cue[1].begin(), row.by_cue[1].end());
  const std::size_t width = rows[0].by_cue[1].size();
  const Standardisation how = standardisation(std::span(x).first(first * width), width, true);
  const RowSet set(rows);
  const auto fitted = HeadFitter(prepared(x, how), width, set.classes()).fit(HeadMethod::kLda, shrinkage);
  EXPECT_TRUE(fitted.ok());
  LinearHead head;
  head.width = width;
  head.mean = how.mean;
  head.scale = how.scale;
  head.normalised = true;
  head.options = set.options();
  for (const double weight : fitted->weights) head.weights.push_back(static_cast<float>(weight));
  for (const double bias : fitted->bias) head.bias.push_back(static_cast<float>(bias));
  return head;
}

// More numbers than rows and fewer, new options on the way, many rows more than there were at first.
TEST(LdaTeacher, IsAFreshFitAfterEveryLabel) {
  std::mt19937 random(kSeed);
  for (int round = 0; round < 60; round++) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(kSeed));
    const std::size_t width = 2 + random() % 30;
    const std::size_t options = 2 + random() % 4;
    const std::size_t first = 6 + random() % 20;
    const auto all = drawn(first + 30, options, width, random);
    std::vector<TeachingRow> rows(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
    auto teacher = LdaTeacher::open(rows, {1}, 0.2 + 0.1 * static_cast<double>(random() % 7));
    ASSERT_TRUE(teacher.ok()) << teacher.error().message;
    for (std::size_t i = first; i < all.size(); i++) {
      rows.push_back(all[i]);
      ASSERT_TRUE((*teacher)->add(all[i]).ok());
      ASSERT_EQ((*teacher)->row_count(), rows.size());
      if (i % 7 != 0 && i + 1 < all.size()) continue;
      const LinearHead kept = (*teacher)->head();
      ASSERT_TRUE(check_head(kept, options).ok());
      const LinearHead made = fresh(rows, first, (*teacher)->shrinkage());
      ASSERT_EQ(kept.options, made.options);
      for (const TeachingRow& row : rows) {
        const auto a = scores_of(kept, row, options);
        const auto b = scores_of(made, row, options);
        for (std::size_t k = 0; k < options; k++) ASSERT_NEAR(a[k], b[k], 1e-4 * (1 + std::abs(b[k])));
      }
    }
    EXPECT_EQ((*teacher)->refit_due(), 4 * 30 >= first);
  }
}

TEST(LdaTeacher, BeginsWhereFitHeadIs) {
  std::mt19937 random(1);
  const auto rows = drawn(40, 3, 10, random);
  for (const double shrinkage : {0.3, kLedoitWolf}) {
    const auto teacher = LdaTeacher::open(rows, {1}, shrinkage);
    ASSERT_TRUE(teacher.ok());
    if (shrinkage > 0) {
      EXPECT_NEAR((*teacher)->shrinkage(), shrinkage, 1e-12);
    }
    const auto head = fit_head(rows, {1}, HeadMethod::kLda, (*teacher)->shrinkage(), 0);
    ASSERT_TRUE(head.ok());
    for (const TeachingRow& row : rows) {
      const auto a = scores_of((*teacher)->head(), row, 3);
      const auto b = scores_of(*head, row, 3);
      for (std::size_t k = 0; k < 3; k++) EXPECT_NEAR(a[k], b[k], 1e-5);
    }
  }
  EXPECT_FALSE((*LdaTeacher::open(rows, {1}, 0.3))->refit_due());
}

// Rows that came since the head was fitted, all at once: what add() gives one by one.
TEST(LdaTeacher, ContinuesAHeadThatWasFittedToFewerRows) {
  std::mt19937 random(3);
  for (const std::size_t width : {std::size_t{8}, std::size_t{60}}) {
    const auto all = drawn(50, 4, width, random);
    const std::vector<TeachingRow> first(all.begin(), all.begin() + 40);
    LinearHead before = *fit_head(first, {1}, HeadMethod::kLda, 0.4, 0);
    auto by_one = LdaTeacher::open_like(first, {1}, before).value();
    EXPECT_NEAR(by_one->shrinkage(), 0.4, 1e-9);
    for (std::size_t i = 40; i < 50; i++) ASSERT_TRUE(by_one->add(all[i]).ok());
    const auto at_once = LdaTeacher::open_like(all, {1}, before).value();
    EXPECT_EQ(at_once->head().lambda, before.lambda);
    EXPECT_EQ(at_once->head().mean, before.mean);
    EXPECT_LT(at_once->shrinkage(), 0.4);
    EXPECT_GE(at_once->bytes(), 8 * std::min<std::size_t>(width * width, 50 * 50));
    const LinearHead made = fresh(all, 40, at_once->shrinkage());
    for (const TeachingRow& row : all) {
      const auto a = scores_of(by_one->head(), row, 4);
      const auto b = scores_of(at_once->head(), row, 4);
      const auto c = scores_of(made, row, 4);
      for (std::size_t k = 0; k < 4; k++) {
        EXPECT_NEAR(a[k], b[k], 1e-4 * (1 + std::abs(b[k])));
        EXPECT_NEAR(b[k], c[k], 1e-4 * (1 + std::abs(c[k])));
      }
    }
    before.lambda = 0;  // as a file of an earlier version has it
    EXPECT_EQ(LdaTeacher::open_like(all, {1}, before).error().field, "lambda");
    before.lambda = 1;
    before.mean.pop_back();
    EXPECT_EQ(LdaTeacher::open_like(all, {1}, before).error().field, "lambda");
  }
}

TEST(LdaTeacher, RidgeAndRowsWithoutSpreadHaveNoLambda) {
  std::mt19937 random(4);
  const auto rows = drawn(20, 2, 5, random);
  EXPECT_EQ(fit_head(rows, {1}, HeadMethod::kRidge, 1, 0)->lambda, 0);
  EXPECT_EQ(fit_head(std::vector<TeachingRow>{rows[0], rows[2]}, {1}, HeadMethod::kLda, 0.7, 0)->lambda, 0);
}

TEST(LdaTeacher, RefusesWhatItCannotLearnFrom) {
  std::mt19937 random(2);
  auto rows = drawn(20, 2, 5, random);
  EXPECT_EQ(LdaTeacher::open(rows, {1}, 0).error().field, "regularisation");
  EXPECT_EQ(LdaTeacher::open(rows, {1}, 1).error().field, "regularisation");
  EXPECT_EQ(LdaTeacher::open(std::vector<TeachingRow>{rows[0], rows[2]}, {1}, 0.5).error().field, "rows");
  const auto teacher = LdaTeacher::open(rows, {1}, 0.5);
  ASSERT_TRUE(teacher.ok());
  TeachingRow bad = rows[0];
  bad.by_cue[1].pop_back();
  EXPECT_EQ((*teacher)->add(bad).error().field, "by_cue");
  bad.by_cue[1].push_back(NAN);
  EXPECT_EQ((*teacher)->add(bad).error().field, "by_cue");
  bad.by_cue.pop_back();
  EXPECT_EQ((*teacher)->add(bad).error().field, "by_cue");
  EXPECT_EQ((*teacher)->row_count(), 20U);
  rows[5].by_cue[1][0] = NAN;
  EXPECT_EQ(LdaTeacher::open_like(rows, {1}, (*teacher)->head()).error().field, "rows[5].by_cue[1]");
}

}  // namespace
}  // namespace assay::teach
