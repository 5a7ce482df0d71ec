#include "teach/apply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "decision/readout.h"

namespace assay::teach {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

std::vector<double> exp_of(std::vector<double> values) {
  for (double& value : values) value = std::exp(value);
  return values;
}

std::vector<double> logs(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

// Two numbers in, scores for the options that are named: 0 gets x0, 1 gets x1, ...
LinearHead two_numbers(std::vector<std::size_t> options) {
  LinearHead head;
  head.method = "lda";
  head.width = 2;
  head.mean = {0, 0};
  head.scale = {1, 1};
  for (std::size_t k = 0; k < options.size(); k++) {
    head.weights.push_back(k == 0 ? 1.0F : 0.0F);
    head.weights.push_back(k == 1 ? 1.0F : 0.0F);
    head.bias.push_back(0);
  }
  head.options = std::move(options);
  return head;
}

std::vector<double> scores_of(const LinearHead& head, const std::vector<float>& x, std::size_t option_count,
                              const std::vector<double>& zero_shot = {}) {
  auto scores = head_scores(head, x, option_count, zero_shot);
  EXPECT_TRUE(scores.ok()) << scores.error().message;
  return scores.ok() ? *scores : std::vector<double>{};
}

std::vector<double> calibrated_ok(const Calibration& calibration, const std::vector<double>& scores) {
  auto out = calibrated(calibration, scores);
  EXPECT_TRUE(out.ok()) << out.error().message;
  return out.ok() ? *out : std::vector<double>{};
}

TEST(HeadScores, AreTheLogSoftmaxOfTheLinearMap) {
  LinearHead head = two_numbers({0, 1});
  head.mean = {1, 0};
  head.scale = {2, 1};
  head.bias = {0.5F, 0};
  // s_0 = 0.5 + (1.5 - 1) * 2 = 1.5, s_1 = 0.5
  const auto p = exp_of(scores_of(head, {1.5F, 0.5F}, 2));
  EXPECT_NEAR(p[0], std::exp(1.0) / (std::exp(1.0) + 1), 1e-15);
  EXPECT_NEAR(sum_of(p), 1, 1e-15);
}

TEST(HeadScores, AddUpEveryNumberOfALongState) {
  LinearHead head;
  head.width = 11;
  head.mean.assign(11, 0);
  head.scale.assign(11, 1);
  head.options = {0, 1};
  head.bias = {0, 0};
  head.weights.assign(22, 0);
  std::vector<float> x;
  for (std::size_t d = 0; d < 11; d++) {
    head.weights[d] = static_cast<float>(d + 1);
    x.push_back(0.001F);
  }
  const auto scores = scores_of(head, x, 2);
  EXPECT_NEAR(scores[0] - scores[1], 0.066, 1e-8);  // 0.001 * (1 + ... + 11)
}

TEST(HeadScores, SeeTheDirectionAloneWhereTheHeadIsNormalised) {
  LinearHead head = two_numbers({0, 1});
  head.normalised = true;
  // z = (3, 4) has the root mean square 5 / sqrt 2.
  const auto scores = scores_of(head, {3, 4}, 2);
  EXPECT_NEAR(scores[1] - scores[0], std::sqrt(2.0) / 5, 1e-15);
  EXPECT_NEAR(scores_of(head, {30, 40}, 2)[0], scores[0], 1e-15);
  EXPECT_NEAR(scores_of(head, {0, 0}, 2)[0], std::log(0.5), 1e-15);
}

TEST(HeadScores, TakeThePriorInByItsWeight) {
  LinearHead head = two_numbers({0, 1});
  const auto zero_shot = logs({0.1, 0.9});
  // The head says 3 : 1.
  const std::vector<float> x = {std::log(3.0F), 0};
  EXPECT_NEAR(exp_of(scores_of(head, x, 2, zero_shot))[0], 0.75, 1e-7);
  head.prior_weight = 1;  // 3 * 1 : 1 * 9
  EXPECT_NEAR(exp_of(scores_of(head, x, 2, zero_shot))[0], 0.25, 1e-7);
  head.prior_weight = 0.5;  // 3 * 1 : 1 * 3
  EXPECT_NEAR(exp_of(scores_of(head, x, 2, zero_shot))[0], 0.5, 1e-7);
}

TEST(HeadScores, LeaveAnOptionWithoutLabelsItsZeroShotProbability) {
  const LinearHead head = two_numbers({0, 2});
  const auto p = exp_of(scores_of(head, {std::log(3.0F), 0}, 3, logs({0.1, 0.2, 0.7})));
  // Options 0 and 2 share 0.8 as the head says, 3 : 1.
  EXPECT_NEAR(p[0], 0.6, 1e-7);
  EXPECT_NEAR(p[1], 0.2, 1e-12);
  EXPECT_NEAR(p[2], 0.2, 1e-7);
}

TEST(HeadScores, NormaliseTheZeroShotProbabilitiesAndBearZeros) {
  const LinearHead head = two_numbers({0, 1});
  const auto once = scores_of(head, {0, 0}, 3, logs({1, 2, 7}));
  EXPECT_NEAR(exp_of(once)[2], 0.7, 1e-12);
  const auto none = scores_of(head, {0, 0}, 3, {-kInfinity, -kInfinity, 0});
  EXPECT_NEAR(none[0], kLogProbabilityMin, 1e-9);  // two of exp(-700), halved again
  EXPECT_NEAR(none[2], 0, 1e-12);
}

TEST(HeadScores, RefuseWhatDoesNotFit) {
  const LinearHead head = two_numbers({0, 1});
  EXPECT_EQ(head_scores(head, std::vector<float>{1}, 2, {}).error().field, "hidden_states");
  EXPECT_EQ(head_scores(head, std::vector<float>{1, 2}, 3, {}).error().field, "zero_shot_log_probs");
  EXPECT_EQ(head_scores(head, std::vector<float>{1, 2}, 2, std::vector<double>{0}).error().field,
            "zero_shot_log_probs");
  EXPECT_EQ(head_scores(head, std::vector<float>{1, 2}, 1, {}).error().field, "head.options");
  EXPECT_EQ(head_scores(head, std::vector<float>{1, NAN}, 2, {}).error().code, ErrorCode::kNonfiniteLogits);
  EXPECT_EQ(head_scores(head, std::vector<float>{1, INFINITY}, 2, {}).error().code, ErrorCode::kNonfiniteLogits);
  const std::vector<double> nan = {0, NAN, 0};
  EXPECT_EQ(head_scores(head, std::vector<float>{1, 2}, 3, nan).error().code, ErrorCode::kNonfiniteLogits);
  LinearHead broken = head;
  broken.weights.pop_back();
  EXPECT_EQ(head_scores(broken, std::vector<float>{1, 2}, 2, {}).error().field, "head.weights");
}

TEST(CheckHead, NamesThePartThatIsBroken) {
  const LinearHead head = two_numbers({0, 1});
  EXPECT_TRUE(check_head(head, 2).ok());
  LinearHead broken = head;
  broken.options = {1, 1};
  EXPECT_EQ(check_head(broken, 2).error().field, "head.options");
  broken = head;
  broken.scale[1] = NAN;
  EXPECT_EQ(check_head(broken, 2).error().field, "head.scale");
  broken = head;
  broken.prior_weight = NAN;
  EXPECT_EQ(check_head(broken, 2).error().field, "head.prior_weight");
  broken = head;
  broken.weights[3] = INFINITY;
  EXPECT_EQ(check_head(broken, 2).error().field, "head.weights");
  broken = LinearHead{};
  EXPECT_EQ(check_head(broken, 2).error().field, "head.options");
}

TEST(Calibrated, DividesByTheTemperature) {
  Calibration calibration;
  calibration.temperature = 2;
  const auto p = calibrated_ok(calibration, {0, 2 * std::log(3.0)});
  EXPECT_NEAR(p[0], 0.25, 1e-15);
}

TEST(Calibrated, MovesTheBestAndKeepsTheRatioOfTheOthers) {
  Calibration calibration;
  calibration.isotonic = {{0, 0.5}, {1, 1}};
  // c = 0.5 becomes 0.75; 0.3 and 0.2 are halved.
  const auto p = calibrated_ok(calibration, logs({0.3, 0.5, 0.2}));
  EXPECT_NEAR(p[0], 0.15, 1e-12);
  EXPECT_NEAR(p[1], 0.75, 1e-12);
  EXPECT_NEAR(p[2], 0.1, 1e-12);
}

TEST(Calibrated, MovesTheBestByItsEvidence) {
  Calibration calibration;
  calibration.slope = 0;
  calibration.shift = std::log(2.0);  // odds of 1 among three options, whatever the evidence
  // 0.7 becomes 0.5: (0.7 - 0.5) / (0.7 - 1/3) of the way to guessing, for all.
  const double way = 0.2 / (0.7 - 1.0 / 3);
  auto p = calibrated_ok(calibration, logs({0.2, 0.7, 0.1}));
  EXPECT_NEAR(p[1], 0.5, 1e-12);
  EXPECT_NEAR(p[0], 0.2 + way * (1.0 / 3 - 0.2), 1e-12);
  EXPECT_NEAR(p[2], 0.1 + way * (1.0 / 3 - 0.1), 1e-12);
  // 0.4 becomes 0.5, and the others shrink alike.
  p = calibrated_ok(calibration, logs({0.36, 0.4, 0.24}));
  EXPECT_NEAR(p[1], 0.5, 1e-12);
  EXPECT_NEAR(p[0], 0.3, 1e-12);
  EXPECT_NEAR(p[2], 0.2, 1e-12);
  // Half of the evidence: odds of 4 among two options become odds of 2. A map comes behind it.
  calibration.slope = 0.5;
  calibration.shift = 0;
  EXPECT_NEAR(calibrated_ok(calibration, logs({0.8, 0.2}))[0], 2.0 / 3, 1e-12);
  calibration.isotonic = {{0, 0.5}, {1, 0.8}};
  EXPECT_NEAR(calibrated_ok(calibration, logs({0.8, 0.2}))[0], 0.7, 1e-12);
  calibration.isotonic = {{0, 0}, {1, 0.1}};
  EXPECT_NEAR(calibrated_ok(calibration, logs({0.8, 0.2}))[0], 0.5, 1e-12);
  // The evidence is that at the temperature: odds of 16 at 2 are odds of 4.
  calibration.isotonic.clear();
  calibration.temperature = 2;
  EXPECT_NEAR(calibrated_ok(calibration, {std::log(16.0), 0})[0], 2.0 / 3, 1e-12);
}

TEST(Calibrated, NeverLetsTheSecondOvertake) {
  Calibration calibration;
  calibration.isotonic = {{0, 0}, {1, 0.1}};
  // 0.3 : 0.2 of the others is q = 0.6, so the best keeps 0.6 / 1.6.
  const auto p = calibrated_ok(calibration, logs({0.3, 0.5, 0.2}));
  EXPECT_NEAR(p[1], 0.375, 1e-12);
  EXPECT_NEAR(p[2], 0.25, 1e-12);
  EXPECT_EQ(decision::best_option(p), 1U);  // although option 0 has the same and was declared before it
  EXPECT_NEAR(sum_of(p), 1, 1e-12);
}

TEST(Calibrated, HasAnAnswerForTheEdges) {
  Calibration calibration;
  calibration.isotonic = {{0.2, 0.3}, {0.9, 0.8}};
  EXPECT_EQ(calibrated_ok(calibration, {-5}), std::vector<double>{1});
  // All others have probability 0 in double: they share what the map takes from the best by their scores.
  const auto p = calibrated_ok(calibration, {1000, 0, 0, -1});
  EXPECT_NEAR(p[0], 0.8, 1e-12);
  EXPECT_NEAR(p[1] / p[3], std::exp(1.0), 1e-12);
  EXPECT_EQ(calibrated(calibration, std::vector<double>{0, NAN}).error().code, ErrorCode::kNonfiniteLogits);
  EXPECT_EQ(calibrated(calibration, {}).error().code, ErrorCode::kInvalidArgument);
  calibration.temperature = 0;
  EXPECT_EQ(calibrated(calibration, std::vector<double>{0, 1}).error().field, "calibration.temperature");
  calibration.temperature = 1;
  calibration.slope = -1;
  EXPECT_EQ(calibrated(calibration, std::vector<double>{0, 1}).error().field, "calibration.slope");
  calibration.slope = 1;
  calibration.shift = NAN;
  EXPECT_EQ(calibrated(calibration, std::vector<double>{0, 1}).error().field, "calibration.shift");
  calibration.shift = 0;
  calibration.isotonic = {{0.2, 0.3}, {0.9, 0.2}};
  EXPECT_EQ(calibrated(calibration, std::vector<double>{0, 1}).error().field, "calibration.isotonic");
}

// Random scores with many ties, random temperatures and maps: a distribution comes out, and the answer stays.
TEST(Calibrated, KeepsTheAnswerWhateverTheMap) {
  constexpr unsigned kSeed = 20261130;
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 20000; round++) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(kSeed));
    std::vector<double> scores(1 + random() % 6);
    const double step = round % 3 == 0 ? 1e-16 : 1;
    for (double& score : scores) score = -step * static_cast<double>(random() % 4);
    if (round % 5 == 0) scores[0] += 300 * unit(random);
    Calibration calibration;
    calibration.temperature = std::exp(8 * unit(random) - 4);
    if (round % 2 == 0) {
      calibration.slope = 3 * unit(random) * unit(random);
      calibration.shift = 10 * unit(random) - 5;
    }
    double x = unit(random) / 2;
    double y = unit(random) / 2;
    for (std::size_t knot = random() % 4; knot > 0; knot--) {
      calibration.isotonic.emplace_back(x, y);
      x += 0.01 + 0.1 * unit(random);
      y += 0.1 * unit(random);
    }
    const auto p = calibrated_ok(calibration, scores);
    ASSERT_NEAR(sum_of(p), 1, 1e-12);
    for (const double value : p) ASSERT_TRUE(value >= 0 && value <= 1) << value;
    ASSERT_EQ(decision::best_option(p), decision::best_option(*decision::probabilities(scores, 1)));
  }
}

TEST(FindCalibration, TakesTheNarrowestBucketOfItsKind) {
  std::vector<Calibration> all(4);
  for (Calibration& one : all) one.readout = "letters";
  for (Calibration& one : all) one.type = "choice";
  all[0].options_max = 1024;
  all[1].options_min = 3;
  all[1].options_max = 5;
  all[2].readout = "text";
  all[3].type = "scale";
  EXPECT_EQ(find_calibration(all, "letters", "choice", 4), &all[1]);
  EXPECT_EQ(find_calibration(all, "letters", "choice", 6), &all[0]);
  EXPECT_EQ(find_calibration(all, "letters", "choice", 1025), nullptr);
  EXPECT_EQ(find_calibration(all, "text", "choice", 2), &all[2]);
  EXPECT_EQ(find_calibration(all, "text", "choice", 3), nullptr);
  EXPECT_EQ(find_calibration(all, "letters", "yes_no", 2), nullptr);
  EXPECT_EQ(find_calibration({}, "letters", "choice", 2), nullptr);
}

TEST(ThresholdFor, PrefersTheOptionsOwn) {
  std::vector<Threshold> all(3);
  all[0].value = 0.5;
  all[1].option = "refund";
  all[2].option = "cancel";
  all[2].value = 0.9;
  EXPECT_EQ(threshold_for(all, "cancel"), &all[2]);
  EXPECT_EQ(threshold_for(all, "refund"), &all[1]);  // its own, although it has no value
  EXPECT_EQ(threshold_for(all, "info"), &all[0]);
  EXPECT_EQ(threshold_for(std::span(all).subspan(1), "info"), nullptr);
}

}  // namespace
}  // namespace assay::teach
