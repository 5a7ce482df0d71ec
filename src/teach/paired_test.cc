#include "teach/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay::teach {
namespace {

double evidence(std::uint64_t wins, std::uint64_t losses) { return std::exp(log_evidence_of_better(wins, losses)); }

TEST(Paired, SmallNumbersCanBeCheckedByHand) {
  EXPECT_NEAR(evidence(0, 0), 1, 1e-12);
  EXPECT_NEAR(evidence(1, 0), 1.5, 1e-12);  // 4 * (1 - 1/4) / 2
  EXPECT_NEAR(evidence(0, 1), 0.5, 1e-12);
  EXPECT_NEAR(evidence(5, 0), 10.5, 1e-10);         // (1 + 6 + 15 + 20 + 15 + 6) / 6
  EXPECT_NEAR(evidence(2, 1), 11.0 / 12.0, 1e-12);  // (1 + 4 + 6) / (4 * 3)
}

TEST(Paired, SevenWinsAreEnoughForAnErrorOfOneInTwenty) {
  EXPECT_LT(evidence(6, 0), 20);
  EXPECT_GE(evidence(7, 0), 20);
}

// Ville: in all, the chance that a fair coin's money ever reaches 1 / error is at most the error.
TEST(Paired, AFairCoinIsRarelyFoundBetterHoweverOftenItIsLookedAt) {
  const unsigned seed = 20261130;
  std::mt19937 random(seed);
  constexpr int kRounds = 2000;
  int fooled = 0;
  int found = 0;
  for (int round = 0; round < kRounds; round++) {
    std::uint64_t fair[2] = {0, 0};
    std::uint64_t good[2] = {0, 0};
    bool alarmed = false;
    bool better = false;
    for (int toss = 0; toss < 100; toss++) {
      fair[random() % 2]++;
      good[random() % 4 == 0 ? 1 : 0]++;  // wins three times of four
      alarmed = alarmed || evidence(fair[0], fair[1]) >= 20;
      better = better || evidence(good[0], good[1]) >= 20;
    }
    fooled += alarmed ? 1 : 0;
    found += better ? 1 : 0;
  }
  EXPECT_LE(fooled, kRounds / 20) << "seed " << seed;
  EXPECT_GE(found, kRounds * 9 / 10) << "seed " << seed;
}

TEST(Paired, ManyLabelsStayFinite) {
  EXPECT_TRUE(std::isfinite(log_evidence_of_better(200'000, 0)));
  EXPECT_GT(log_evidence_of_better(200'000, 0), 100'000);
  EXPECT_LT(log_evidence_of_better(0, 200'000), -10);
  EXPECT_GT(log_evidence_of_better(6000, 4000), 100);
}

}  // namespace
}  // namespace assay::teach
