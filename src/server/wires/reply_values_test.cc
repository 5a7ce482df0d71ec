#include "server/wires/reply_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace assay::server {
namespace {

Answer answer_of(const std::vector<double>& probabilities) {
  Answer answer{.question_id = "q", .options = {}};
  for (const double probability : probabilities) answer.options.push_back({.id = "o", .probability = probability});
  return answer;
}

TEST(Entropy, IsZeroForTheCertainAndLogNForTheEqual) {
  EXPECT_EQ(entropy_of(answer_of({1, 0, 0})), 0);
  EXPECT_FALSE(std::signbit(entropy_of(answer_of({1}))));
  EXPECT_NEAR(entropy_of(answer_of({0.25, 0.25, 0.25, 0.25})), std::log(4.0), 1e-12);
}

// The table of the contract's section 2.3: sum of i p_i.
TEST(ExpectedPlace, IsTheMeanLevelFromZero) {
  EXPECT_NEAR(expected_place(answer_of({.7, .2, .1})), 0.4, 1e-9);
  EXPECT_NEAR(expected_place(answer_of({.25, .25, .25, .25})), 1.5, 1e-9);
  EXPECT_NEAR(expected_place(answer_of({1, 0, 0, 0, 0})), 0, 1e-9);
  EXPECT_NEAR(expected_place(answer_of({.1, .2, .4, .2, .1})), 2.0, 1e-9);
  EXPECT_NEAR(expected_place(answer_of({.02, .08, .9})), 1.88, 1e-9);
  EXPECT_NEAR(expected_place(answer_of({.05, .15, .3, .5})), 2.25, 1e-9);
}

TEST(RoundedProbabilities, AreAsTheyAreForZeroDigits) {
  const std::vector<double> p = {0.123456789012345, 1 - 0.123456789012345};
  EXPECT_EQ(rounded_probabilities(answer_of(p), 0), p);
  EXPECT_EQ(rounded(0.123456789012345, 0), 0.123456789012345);
  EXPECT_EQ(rounded(0.125, 2), 0.13);
}

TEST(RoundedProbabilities, StillSumToOne) {
  EXPECT_EQ(rounded_probabilities(answer_of({1.0 / 3, 1.0 / 3, 1.0 / 3}), 2), (std::vector<double>{0.34, 0.33, 0.33}));
  EXPECT_EQ(rounded_probabilities(answer_of({0.29, 0.71}), 2), (std::vector<double>{0.29, 0.71}));
  EXPECT_EQ(rounded_probabilities(answer_of({1, 0}), 2), (std::vector<double>{1, 0}));
  const std::vector<double> many = rounded_probabilities(answer_of(std::vector<double>(255, 1.0 / 255)), 2);
  EXPECT_NEAR(std::accumulate(many.begin(), many.end(), 0.0), 1, 1e-9);
}

TEST(RoundedProbabilities, KeepTheirOrder) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> p(1 + random() % 40);
    for (double& x : p) x = std::exp(static_cast<double>(random() % 1000) / 100);
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
    const std::vector<double> out = rounded_probabilities(answer_of(p), 2);
    EXPECT_NEAR(std::accumulate(out.begin(), out.end(), 0.0), 1, 1e-9) << round;
    for (std::size_t i = 0; i < p.size(); ++i) {
      EXPECT_NEAR(out[i], p[i], 0.0101) << round;
      for (std::size_t j = 0; j < p.size(); ++j) {
        EXPECT_FALSE(p[i] > p[j] && out[i] < out[j]) << round;
      }
    }
  }
}

TEST(CheckFinite, LooksAtEveryNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Answer answer = answer_of({1});
  EXPECT_TRUE(all_finite(answer));
  answer.confidence = nan;
  EXPECT_FALSE(all_finite(answer));
  answer.confidence = 1;
  answer.options[0].score = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(all_finite(answer));
  answer.options[0].score = 0;
  answer.hidden_state = {std::numeric_limits<float>::quiet_NaN()};
  DecisionReply reply{.answers = {answer}};
  EXPECT_EQ(check_finite(reply).error().code, ErrorCode::kNonfiniteLogits);
  reply.answers[0].hidden_state.clear();
  EXPECT_TRUE(check_finite(reply).ok());
  reply.queue_ms = nan;
  EXPECT_EQ(check_finite(reply).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace assay::server
