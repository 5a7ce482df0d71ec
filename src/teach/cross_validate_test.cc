#include "teach/cross_validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "decision/readout.h"
#include "teach/apply.h"

namespace assay::teach {
namespace {

constexpr std::size_t kWidth = 8;

// Rows of `options` classes, class by class in turn. Each cue's numbers are noise with the class's mark on number
// `class`, as strong as strength[cue].
std::vector<TeachingRow> drawn(std::size_t count, std::size_t options, const std::vector<double>& strength,
                               std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<TeachingRow> rows;
  for (std::size_t i = 0; i < count; i++) {
    TeachingRow row;
    row.option = i % options;
    for (const double strong : strength) {
      std::vector<float> x;
      for (std::size_t d = 0; d < kWidth; d++) {
        x.push_back(static_cast<float>(normal(random) + (d == row.option ? strong : 0)));
      }
      row.by_cue.push_back(x);
    }
    rows.push_back(row);
  }
  return rows;
}

// Zero-shot probabilities that favour the right option by `strength` in the logarithm, less or more by chance.
void add_zero_shot(std::vector<TeachingRow>& rows, std::size_t options, double strength, std::mt19937& random) {
  std::normal_distribution<double> normal;
  for (TeachingRow& row : rows) {
    std::vector<double> scores;
    for (std::size_t k = 0; k < options; k++) scores.push_back(normal(random) + (k == row.option ? strength : 0));
    const double sum = decision::log_sum_exp(scores);
    for (double& score : scores) score -= sum;
    row.zero_shot_log_probs = scores;
  }
}

HeadChoice chosen(const std::vector<TeachingRow>& rows, std::size_t options, const ChoiceSettings& settings = {}) {
  auto choice = choose_head(rows, options, settings);
  EXPECT_TRUE(choice.ok()) << choice.error().message;
  if (!choice) return {};
  EXPECT_TRUE(check_head(choice->head, options).ok());
  EXPECT_EQ(choice->scores.size(), rows.size());
  EXPECT_EQ(static_cast<std::size_t>(
                std::count_if(choice->scores.begin(), choice->scores.end(), [](const auto& s) { return !s.empty(); })),
            choice->rows_tested);
  return std::move(*choice);
}

std::vector<float> joined(const TeachingRow& row, const std::vector<std::size_t>& cues) {
  std::vector<float> x;
  for (const std::size_t cue : cues) x.insert(x.end(), row.by_cue[cue].begin(), row.by_cue[cue].end());
  return x;
}

double accuracy_on(const HeadChoice& choice, const std::vector<TeachingRow>& rows, std::size_t options) {
  double right = 0;
  for (const TeachingRow& row : rows) {
    const auto scores = head_scores(choice.head, joined(row, choice.cues), options, row.zero_shot_log_probs);
    EXPECT_TRUE(scores.ok());
    if (decision::best_option(*scores) == row.option) right += 1;
  }
  return right / static_cast<double>(rows.size());
}

TEST(ChooseHead, TakesTheCueThatTells) {
  std::mt19937 random(20261130);
  const auto rows = drawn(150, 3, {0, 2, 0.5}, random);
  const auto fresh = drawn(600, 3, {0, 2, 0.5}, random);
  const HeadChoice choice = chosen(rows, 3);
  EXPECT_TRUE(choice.measured);
  EXPECT_TRUE(std::find(choice.cues.begin(), choice.cues.end(), 1U) != choice.cues.end());
  EXPECT_EQ(choice.rows_tested, 150U);
  EXPECT_GT(choice.accuracy, 0.7);
  // What was measured is what new rows get, to three standard errors of both.
  EXPECT_NEAR(choice.accuracy, accuracy_on(choice, fresh, 3), 3 * choice.accuracy_error + 0.06);
  EXPECT_NEAR(choice.accuracy_error, std::sqrt(choice.accuracy * (1 - choice.accuracy) / 150), 1e-12);
  EXPECT_EQ(choice.accuracy_zero_shot, -1);
  EXPECT_EQ(choice.head.prior_weight, 0);
  for (const TriedHead& tried : choice.tried) EXPECT_GT(tried.log_loss, 0);
}

TEST(ChooseHead, JoinsTwoCuesWhereBothTell) {
  std::mt19937 random(1);
  const auto rows = drawn(300, 3, {1.5, 1.5, 0}, random);
  EXPECT_EQ(chosen(rows, 3).cues, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(chosen(rows, 3, {.join_cues = false}).cues.size(), 1U);
  // A second cue that says nothing costs time and earns nothing.
  EXPECT_EQ(chosen(drawn(300, 3, {1.5, 0, 0}, random), 3).cues, std::vector<std::size_t>{0});
}

TEST(ChooseHead, TakesThePriorInOnlyWhereItEarnsItsCost) {
  std::mt19937 random(2);
  auto rows = drawn(200, 4, {1}, random);
  add_zero_shot(rows, 4, 2, random);
  const HeadChoice helped = chosen(rows, 4);
  EXPECT_GT(helped.head.prior_weight, 0);
  EXPECT_GT(helped.accuracy, chosen(rows, 4, {.prior_weight = 0}).accuracy);
  EXPECT_GT(helped.accuracy_zero_shot, 0.6);
  add_zero_shot(rows, 4, 0, random);
  EXPECT_EQ(chosen(rows, 4).head.prior_weight, 0);
  EXPECT_EQ(chosen(rows, 4, {.prior_weight = 0.5}).head.prior_weight, 0.5);
}

TEST(ChooseHead, TestsALabelAgainstTheWordsThatAlwaysTrain) {
  std::mt19937 random(3);
  auto rows = drawn(6, 6, {3}, random);  // one label each
  EXPECT_EQ(chosen(rows, 6).rows_tested, 0U);
  auto words = drawn(6, 6, {3}, random);
  for (TeachingRow& row : words) row.always_train = true;
  rows.insert(rows.end(), words.begin(), words.end());
  const HeadChoice choice = chosen(rows, 6);
  EXPECT_EQ(choice.rows_tested, 6U);
  EXPECT_FALSE(choice.measured);  // six are too few to choose by
  EXPECT_GE(choice.accuracy, 0);
  for (std::size_t i = 0; i < rows.size(); i++) EXPECT_EQ(choice.scores[i].empty(), i >= 6);
}

TEST(ChooseHead, GivesWhatHeadScoresGivesWithoutTheRow) {
  std::mt19937 random(4);
  auto rows = drawn(40, 3, {1}, random);
  add_zero_shot(rows, 5, 1, random);  // options 3 and 4 have no labels
  const ChoiceSettings settings{.method = HeadMethod::kRidge, .regularisation = 0.5, .prior_weight = 0.5};
  const HeadChoice choice = chosen(rows, 5, settings);
  EXPECT_EQ(choice.head.options, (std::vector<std::size_t>{0, 1, 2}));
  const auto plain = fit_head(rows, {0}, HeadMethod::kRidge, 0.5, 0.5);
  ASSERT_TRUE(plain.ok());
  const double sharpness = static_cast<double>(choice.head.weights[0]) / static_cast<double>(plain->weights[0]);
  EXPECT_GT(sharpness, 0);
  for (const std::size_t left_out : {0U, 7U, 39U}) {
    auto others = rows;
    others.erase(others.begin() + left_out);
    auto head = fit_head(others, {0}, HeadMethod::kRidge, 0.5, 0.5);
    ASSERT_TRUE(head.ok());
    sharpen(*head, sharpness);
    const auto scores = head_scores(*head, rows[left_out].by_cue[0], 5, rows[left_out].zero_shot_log_probs);
    ASSERT_TRUE(scores.ok());
    // Alike, not equal: means, scales and shares are those of all rows here, of the others there.
    for (std::size_t k = 0; k < 5; k++) EXPECT_NEAR((*scores)[k], choice.scores[left_out][k], 0.2);
  }
}

TEST(ChooseHead, HasTheSameResultWithAnyNumberOfThreads) {
  std::mt19937 random(23);
  const std::vector<TeachingRow> rows = drawn(90, 3, {1.5, 1.2, 0.9}, random);
  const HeadChoice alone = chosen(rows, 3);
  ASSERT_GT(alone.tried.size(), 12u);
  for (const std::size_t threads : {2, 3, 16}) {
    const HeadChoice other = chosen(rows, 3, {.threads = threads});
    EXPECT_EQ(other.head.weights, alone.head.weights);
    EXPECT_EQ(other.head.bias, alone.head.bias);
    EXPECT_EQ(other.cues, alone.cues);
    EXPECT_EQ(other.scores, alone.scores);
    ASSERT_EQ(other.tried.size(), alone.tried.size());
    for (std::size_t i = 0; i < alone.tried.size(); i++) {
      EXPECT_EQ(other.tried[i].cues, alone.tried[i].cues);
      EXPECT_EQ(other.tried[i].regularisation, alone.tried[i].regularisation);
      EXPECT_EQ(other.tried[i].log_loss, alone.tried[i].log_loss);
    }
  }
  for (const std::size_t threads : {1, 4}) {
    const auto refused = choose_head(rows, 3, {.method = HeadMethod::kRidge, .regularisation = -1, .threads = threads});
    EXPECT_EQ(refused.error().field,
              choose_head(rows, 3, {.method = HeadMethod::kRidge, .regularisation = -1}).error().field);
  }
}

TEST(ChooseHead, HasADefaultForTooFewLabels) {
  std::mt19937 random(5);
  const HeadChoice two = chosen(drawn(2, 2, {3, 3}, random), 2);
  EXPECT_FALSE(two.measured);
  EXPECT_TRUE(two.tried.empty());
  EXPECT_EQ(two.accuracy, -1);
  EXPECT_EQ(two.cues, std::vector<std::size_t>{0});
  EXPECT_EQ(two.head.method, "ridge");
  const HeadChoice six = chosen(drawn(6, 2, {3}, random), 2);
  EXPECT_EQ(six.head.method, "lda");
  EXPECT_EQ(six.rows_tested, 6U);
  // Some classes with one label: they are trained on, and not tested.
  auto rows = drawn(30, 3, {2}, random);
  rows.push_back(drawn(4, 4, {2}, random).back());
  const HeadChoice mixed = chosen(rows, 4);
  EXPECT_EQ(mixed.rows_tested, 30U);
  EXPECT_TRUE(mixed.scores.back().empty());
  EXPECT_EQ(mixed.head.options.size(), 4U);
}

TEST(ChooseHead, TriesLittleWhereOptionsHaveTwoRows) {
  std::mt19937 random(9);
  auto rows = drawn(12, 6, {3, 3}, random);
  add_zero_shot(rows, 6, 4, random);
  const HeadChoice choice = chosen(rows, 6);
  EXPECT_TRUE(choice.measured);
  EXPECT_LE(choice.head.prior_weight, 0.25);
  for (const TriedHead& tried : choice.tried) {
    EXPECT_EQ(tried.method, HeadMethod::kLda);
    EXPECT_GE(tried.regularisation, 0.7);
  }
  rows.resize(6);  // one row each: nothing can be tested, so the zero-shot readout has a say
  EXPECT_EQ(chosen(rows, 6).head.prior_weight, 0.25);
  EXPECT_EQ(chosen(rows, 6, {.prior_weight = 0}).head.prior_weight, 0);
}

TEST(ChooseHead, SearchesASampleAndScoresEveryRow) {
  std::mt19937 random(6);
  const auto rows = drawn(400, 4, {0, 2}, random);
  const HeadChoice choice = chosen(rows, 4, {.join_cues = false, .search_rows_max = 100});
  EXPECT_EQ(choice.rows_tested, 400U);
  EXPECT_EQ(choice.cues, std::vector<std::size_t>{1});
  const HeadChoice again = chosen(rows, 4, {.join_cues = false, .search_rows_max = 100});
  EXPECT_EQ(choice.scores, again.scores);
  EXPECT_EQ(choice.head.weights, again.head.weights);
}

TEST(ChooseHead, BearsConstantAndRepeatedNumbers) {
  std::mt19937 random(7);
  auto rows = drawn(40, 2, {2}, random);
  for (TeachingRow& row : rows) row.by_cue[0][5] = 7;
  EXPECT_EQ(chosen(rows, 2).head.scale[5], 0);
  std::vector<TeachingRow> same(20, rows[0]);  // one text under two labels
  for (std::size_t i = 0; i < same.size(); i++) same[i].option = i % 2;
  EXPECT_EQ(chosen(same, 2).rows_tested, 20U);
}

TEST(ChooseHead, NamesWhatIsWrong) {
  std::mt19937 random(8);
  const auto good = drawn(20, 2, {1}, random);
  const auto field = [](const std::vector<TeachingRow>& rows, const ChoiceSettings& settings = {},
                        std::size_t options = 2) { return choose_head(rows, options, settings).error().field; };
  auto rows = good;
  rows[3].option = 2;
  EXPECT_EQ(field(rows), "rows[3].option");
  rows = good;
  rows[3].by_cue[0].pop_back();
  EXPECT_EQ(field(rows), "rows[3].by_cue[0]");
  rows = good;
  rows[4].by_cue[0][1] = NAN;
  EXPECT_EQ(field(rows), "rows[4].by_cue[0]");
  rows = good;
  rows[4].by_cue.push_back({1});
  EXPECT_EQ(field(rows), "rows[4].by_cue");
  rows = good;
  rows[5].zero_shot_log_probs = {-1, -1};
  EXPECT_EQ(field(rows), "rows[0].zero_shot_log_probs");
  for (TeachingRow& row : rows) row.zero_shot_log_probs = {-1, NAN};
  EXPECT_EQ(field(rows), "rows[0].zero_shot_log_probs");
  EXPECT_EQ(field(good, {}, 3), "zero_shot_log_probs");
  EXPECT_EQ(field(good, {.prior_weight = 0.5}), "zero_shot_log_probs");
  EXPECT_EQ(field(good, {.prior_weight = 2}), "prior_weight");
  EXPECT_EQ(field(good, {.regularisation = 0.5}), "regularisation");
  EXPECT_EQ(field({}), "rows");
  EXPECT_EQ(field({good[0], good[2]}), "rows");
}

}  // namespace
}  // namespace assay::teach
