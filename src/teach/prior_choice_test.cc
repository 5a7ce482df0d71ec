#include "teach/prior_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "decision/readout.h"

namespace assay::teach {
namespace {

// Rows of four options whose head's and zero-shot scores favour the right one by so much, less or more by chance.
struct Rows {
  std::vector<std::vector<double>> head, zero_shot;
  std::vector<std::size_t> expected;

  Rows(std::size_t count, double head_strength, double zero_shot_strength) {
    std::mt19937 random(20261130);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < count; i++) {
      std::vector<double> own, other;
      for (std::size_t k = 0; k < 4; k++) {
        own.push_back(normal(random) + (k == i % 4 ? head_strength : 0));
        other.push_back(normal(random) + (k == i % 4 ? zero_shot_strength : 0));
      }
      const double sum = decision::log_sum_exp(other);
      for (double& score : other) score -= sum;
      head.push_back(own);
      zero_shot.push_back(other);
      expected.push_back(i % 4);
    }
  }
  PriorChoice chosen(double weight_max = 1) const {
    std::vector<PriorRow> rows;
    for (std::size_t i = 0; i < head.size(); i++) rows.push_back({head[i], zero_shot[i], expected[i]});
    const std::vector<std::size_t> options = {0, 1, 2, 3};
    return choose_prior(rows, options, weight_max);
  }
};

TEST(ChoosePrior, TakesWhatIsWorthIt) {
  const PriorChoice choice = Rows(200, 1, 1).chosen();
  EXPECT_EQ(choice.weight, 1);  // both say as much
  ASSERT_EQ(choice.trials.size(), 4U);
  EXPECT_EQ(choice.trials[0].weight, 0);
  EXPECT_EQ(choice.trials[0].change.mean, 0);
  EXPECT_LT(choice.trials[3].change.mean, -2 * choice.trials[3].change.error);
  EXPECT_NEAR(choice.trials[3].measured.log_loss - choice.trials[0].measured.log_loss, choice.trials[3].change.mean,
              1e-12);
  EXPECT_GT(choice.trials[3].measured.accuracy, choice.trials[0].measured.accuracy);
  // A weaker one counts for less.
  const double weaker = Rows(2000, 2, 0.6).chosen().weight;
  EXPECT_GT(weaker, 0);
  EXPECT_LT(weaker, 1);
}

TEST(ChoosePrior, LeavesAloneWhatSaysNothing) { EXPECT_EQ(Rows(200, 1, 0).chosen().weight, 0); }

TEST(ChoosePrior, TellsAndTakesNothingFromTooFewRows) {
  const PriorChoice few = Rows(9, 0, 5).chosen();
  EXPECT_EQ(few.weight, 0);
  EXPECT_LT(few.trials[3].change.mean, -2 * few.trials[3].change.error);
  EXPECT_GT(Rows(40, 0, 5).chosen().weight, 0);
}

TEST(ChoosePrior, GoesNoFurtherThanItMay) {
  const PriorChoice choice = Rows(200, 1, 1).chosen(0.25);
  EXPECT_EQ(choice.weight, 0.25);
  EXPECT_EQ(choice.trials.size(), 2U);
  EXPECT_EQ(Rows(200, 1, 1).chosen(0).trials.size(), 1U);
}

TEST(Difference, IsRowByRow) {
  const std::vector<double> first = {1, 2, 3};
  const std::vector<double> second = {2, 2, 5};
  const Difference change = difference(first, second);
  EXPECT_NEAR(change.mean, 1, 1e-15);
  EXPECT_NEAR(change.error, std::sqrt(2.0 / 3 / 3), 1e-15);
}

}  // namespace
}  // namespace assay::teach
