#include "engine/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace assay::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double plain_log_sum_exp(const std::vector<float>& row) {
  long double sum = 0;
  float highest = -kInfinity;
  for (const float logit : row) highest = std::max(highest, logit);
  for (const float logit : row) sum += std::exp(static_cast<long double>(logit) - highest);
  return static_cast<double>(highest + std::log(sum));
}

TEST(ReadLogits, EqualsAPlainSumOverRowsOfEverySize) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.0F, 6.0F);
  for (const std::size_t size : {1UL, 2UL, 15UL, 16UL, 17UL, 1023UL, 1024UL, 1025UL, 49152UL, 151936UL}) {
    std::vector<float> row(size);
    for (float& logit : row) logit = normal(random);
    const Result<ReadResult> read = read_logits(row, {});
    ASSERT_TRUE(read.ok());
    EXPECT_NEAR(read->log_sum_exp, plain_log_sum_exp(row), 1e-6) << size;
  }
}

TEST(ReadLogits, GivesTargetsInTheirOrderAndTheLowestArgmax) {
  const std::vector<float> row = {1, 5, -2, 5};
  const Result<ReadResult> read = read_logits(row, Tokens{2, 0, 2});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->logits, (std::vector<float>{-2, 1, -2}));
  EXPECT_EQ(read->argmax, 1);
}

TEST(ReadLogits, StandsHugeLogits) {
  const std::vector<float> row = {3e38F, -3e38F, 3e38F};
  const Result<ReadResult> read = read_logits(row, Tokens{1});
  ASSERT_TRUE(read.ok());
  EXPECT_NEAR(read->log_sum_exp / 3e38, 1.0, 1e-6);
}

TEST(ReadLogits, RefusesNaNAnywhere) {
  for (const std::size_t at : {0UL, 1UL, 2UL}) {
    std::vector<float> row = {1, 2, 3};
    row[at] = std::nanf("");
    EXPECT_EQ(read_logits(row, {}).error().code, ErrorCode::kNonfiniteLogits);
  }
}

TEST(ReadLogits, RefusesInfinityAndNonfiniteTargets) {
  EXPECT_FALSE(read_logits(std::vector<float>{1, kInfinity}, {}).ok());
  EXPECT_FALSE(read_logits(std::vector<float>{-kInfinity, -kInfinity}, {}).ok());
  EXPECT_FALSE(read_logits(std::vector<float>{1, -kInfinity}, Tokens{1}).ok());
}

TEST(ReadLogits, TakesASuppressedTokenAsProbabilityZero) {
  const Result<ReadResult> read = read_logits(std::vector<float>{0, -kInfinity, 0}, Tokens{0});
  ASSERT_TRUE(read.ok());
  EXPECT_NEAR(read->log_sum_exp, std::log(2.0), 1e-6);
}

}  // namespace
}  // namespace assay::engine
