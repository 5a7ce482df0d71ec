#include "decision/readout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace assay::decision {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Tokens = std::vector<std::int32_t>;

std::vector<double> softmax(const std::vector<double>& scores, double temperature = 1) {
  auto result = probabilities(scores, temperature);
  EXPECT_TRUE(result.ok());
  return result.ok() ? *result : std::vector<double>{};
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

TEST(LogSumExp, AddsProbabilities) {
  const std::vector<double> values = {std::log(1.0), std::log(2.0), std::log(5.0)};
  EXPECT_NEAR(log_sum_exp(values), std::log(8.0), 1e-15);
}

TEST(LogSumExp, DoesNotOverflow) {
  EXPECT_DOUBLE_EQ(log_sum_exp(std::vector<double>{1e30, 1e30}), 1e30);
  EXPECT_DOUBLE_EQ(log_sum_exp(std::vector<double>{-1000, -1000}), -1000 + std::log(2.0));
}

TEST(LogSumExp, HasAnAnswerForTheEdges) {
  EXPECT_EQ(log_sum_exp({}), -kInfinity);
  EXPECT_EQ(log_sum_exp(std::vector<double>{-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(log_sum_exp(std::vector<double>{-kInfinity, 3}), 3);
  EXPECT_EQ(log_sum_exp(std::vector<double>{kInfinity, 3}), kInfinity);
  EXPECT_TRUE(std::isnan(log_sum_exp(std::vector<double>{1, kNan})));
}

TEST(Probabilities, FollowTheRatioOfTheExponentials) {
  const auto p = softmax({std::log(1.0), std::log(3.0)});
  EXPECT_NEAR(p[0], 0.25, 1e-15);
  EXPECT_NEAR(p[1], 0.75, 1e-15);
}

TEST(Probabilities, EqualAPublishedRowOfSemIf) {
  const auto p = softmax({18.296875, 18.703125, 25.8125});
  EXPECT_NEAR(p[0], 0.0005437690244183611, 1e-12);
  EXPECT_NEAR(p[1], 0.0008162939877845685, 1e-12);
  EXPECT_NEAR(p[2], 0.998639936987797, 1e-12);
}

TEST(Probabilities, FlattenWithTheTemperature) {
  const auto p = softmax({0, 2 * std::log(3.0)}, 2);
  EXPECT_NEAR(p[0], 0.25, 1e-15);
  EXPECT_NEAR(p[1], 0.75, 1e-15);
}

TEST(Probabilities, SurviveExtremeScores) {
  EXPECT_EQ(softmax({-1e30, 1e30}), (std::vector<double>{0, 1}));
  EXPECT_EQ(softmax({1e30, 1e30}), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(softmax({-1e30, -1e30, -1e30, -1e30}), (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_EQ(softmax({-kMax, kMax}, 1e-300), (std::vector<double>{0, 1}));
  EXPECT_EQ(softmax({1, 2}, 1e300), (std::vector<double>{0.5, 0.5}));
}

TEST(Probabilities, OfOneOptionIsOne) {
  EXPECT_EQ(softmax({-1e30}), std::vector<double>{1});
  EXPECT_EQ(softmax({0}), std::vector<double>{1});
}

TEST(Probabilities, SumToOneForAThousandOptions) {
  std::vector<double> scores(1024);
  for (std::size_t i = 0; i < scores.size(); i++) scores[i] = 30 * std::sin(static_cast<double>(i));
  EXPECT_NEAR(sum_of(softmax(scores)), 1, 1e-12);
  EXPECT_NEAR(sum_of(softmax(scores, 1000)), 1, 1e-12);
  EXPECT_NEAR(sum_of(softmax(std::vector<double>(1023, 0.1))), 1, 1e-12);
}

TEST(Probabilities, RefuseWhatIsNotFinite) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    const auto result = probabilities(std::vector<double>{1, bad, 2}, 1);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kNonfiniteLogits);
    EXPECT_NE(result.error().message.find("option 1"), std::string::npos);
  }
}

TEST(BestOption, IsTheFirstOfEquals) {
  EXPECT_EQ(best_option(std::vector<double>{0.2, 0.4, 0.4}), 1u);
  EXPECT_EQ(best_option(std::vector<double>{1}), 0u);
  EXPECT_EQ(best_option(softmax({7, 7, 7})), 0u);
}

TEST(BestOption, LooksAtTheReportedProbabilities) {
  // The scores differ, but not enough to differ as probabilities.
  const auto p = softmax({1, std::nextafter(1.0, 2.0)}, 1e6);
  EXPECT_EQ(p[0], p[1]);
  EXPECT_EQ(best_option(p), 0u);
}

TEST(AllowedMass, IsTheLabelsShareOfTheVocabulary) {
  const std::vector<double> vocabulary = {0, 0, 0, 0};
  const std::vector<float> labels = {0, 0};
  EXPECT_NEAR(allowed_mass(labels, log_sum_exp(vocabulary)), 0.5, 1e-15);
  EXPECT_EQ(allowed_mass({}, 1), 0);
}

TEST(AllowedMass, StaysBetweenZeroAndOne) {
  EXPECT_EQ(allowed_mass(std::vector<float>{1.0000001F}, 1.0), 1);
  EXPECT_EQ(allowed_mass(std::vector<float>{-1e30F}, 1.0), 0);
}

TEST(NeedsEnd, IsTrueForAnOptionThatBeginsAnother) {
  // "sale" and "sales" when the plural is one more token.
  EXPECT_EQ(needs_end(std::vector<Tokens>{{10}, {10, 4}}), (std::vector<bool>{true, false}));
  EXPECT_EQ(needs_end(std::vector<Tokens>{{10, 4}, {10}}), (std::vector<bool>{false, true}));
}

TEST(NeedsEnd, IsTrueForAllButTheLastOfAChain) {
  // "a", "aa", "aaa".
  EXPECT_EQ(needs_end(std::vector<Tokens>{{1, 1, 1}, {1}, {1, 1}}), (std::vector<bool>{false, true, true}));
}

TEST(NeedsEnd, IsFalseForEqualTokens) {
  EXPECT_EQ(needs_end(std::vector<Tokens>{{1, 2}, {1, 2}}), (std::vector<bool>{false, false}));
  EXPECT_EQ(needs_end(std::vector<Tokens>{{1, 2}, {1, 2, 3}, {1, 2}}), (std::vector<bool>{true, false, true}));
}

TEST(NeedsEnd, IsFalseForOptionsThatOnlyShareABeginning) {
  EXPECT_EQ(needs_end(std::vector<Tokens>{{1, 2}, {1, 3}, {2}}), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(needs_end(std::vector<Tokens>{{5}}), std::vector<bool>{false});
  EXPECT_TRUE(needs_end({}).empty());
}

TEST(NeedsEnd, FindsALongerOptionBehindManyOthers) {
  EXPECT_EQ(needs_end(std::vector<Tokens>{{1, 9}, {1}, {1, 2, 3}, {1, 9, 9}, {0}}),
            (std::vector<bool>{true, true, false, false, false}));
}

TEST(NeedsEnd, EqualsTheSlowAnswerForAThousandOptions) {
  std::vector<Tokens> options;
  for (std::int32_t i = 0; i < 1024; i++) {
    Tokens tokens;
    for (std::int32_t rest = i * 37 % 1024; rest > 0; rest /= 3) tokens.push_back(rest % 3);
    options.push_back(tokens);
  }
  const std::vector<bool> fast = needs_end(options);
  for (std::size_t i = 0; i < options.size(); i++) {
    bool slow = false;
    for (const Tokens& other : options) {
      slow =
          slow || (other.size() > options[i].size() && std::equal(options[i].begin(), options[i].end(), other.begin()));
    }
    ASSERT_EQ(fast[i], slow) << "option " << i;
  }
}

TEST(PeakConfidence, IsZeroForGuessingAndOneForCertainty) {
  EXPECT_DOUBLE_EQ(peak_confidence(std::vector<double>{0.25, 0.25, 0.25, 0.25}), 0);
  EXPECT_DOUBLE_EQ(peak_confidence(std::vector<double>{0, 1, 0}), 1);
  EXPECT_DOUBLE_EQ(peak_confidence(std::vector<double>{0.88, 0.12, 0}), 0.82);
  EXPECT_DOUBLE_EQ(peak_confidence(std::vector<double>{1}), 1);
}

// The vectors of the System One contract: probabilities, peak, distance.
TEST(Confidence, IsWhatTheContractSays) {
  struct Row {
    std::vector<double> probabilities;
    double peak;
    double distance;
  };
  const std::vector<Row> rows = {{{.7, .2, .1}, .55, .40},
                                 {{.25, .25, .25, .25}, 0, 0},
                                 {{1, 0, 0, 0, 0}, 1, 1},
                                 {{.1, .2, .4, .2, .1}, .25, 1.0 / 3},
                                 {{.5, 0, 0, 0, .5}, .375, 0},
                                 {{.02, .08, .9}, .85, .82},
                                 {{.05, .15, .3, .5}, 1.0 / 3, .25},
                                 {{.04, .16, .55, .2, .05}, .4375, .55},
                                 {{1}, 1, 1}};
  for (const Row& row : rows) {
    EXPECT_NEAR(peak_confidence(row.probabilities), row.peak, 1e-9);
    EXPECT_NEAR(distance_confidence(row.probabilities), row.distance, 1e-9);
    EXPECT_EQ(confidence_of(QuestionType::kScale, row.probabilities), distance_confidence(row.probabilities));
    EXPECT_EQ(confidence_of(QuestionType::kChoice, row.probabilities), peak_confidence(row.probabilities));
    EXPECT_EQ(confidence_of(QuestionType::kYesNo, row.probabilities), peak_confidence(row.probabilities));
  }
}

TEST(Entropy, IsLogOfTheCountForGuessingAndZeroForCertainty) {
  EXPECT_DOUBLE_EQ(entropy(std::vector<double>{0.25, 0.25, 0.25, 0.25}), std::log(4.0));
  EXPECT_EQ(entropy(std::vector<double>{0, 1, 0}), 0);
  EXPECT_FALSE(std::signbit(entropy(std::vector<double>{1})));
}

}  // namespace
}  // namespace assay::decision
