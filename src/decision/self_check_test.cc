#include "decision/self_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "decision/self_check_rows.h"

namespace assay::decision {
namespace {

CheckScore score(Readout readout, QuestionType type, int right, bool reliable) {
  return CheckScore{.readout = readout, .type = type, .right = right, .rows = 10, .reliable = reliable};
}

std::vector<std::size_t> all_right() {
  std::vector<std::size_t> picked;
  for (const SelfCheckRow& row : self_check_rows()) picked.push_back(row.expected);
  return picked;
}

TEST(ChanceTail, IsTheBinomialTailForEqualChances) {
  const std::vector<double> coins(4, 0.5);
  EXPECT_DOUBLE_EQ(chance_tail(coins, 4), 1.0 / 16);
  EXPECT_DOUBLE_EQ(chance_tail(coins, 3), 5.0 / 16);
  EXPECT_DOUBLE_EQ(chance_tail(coins, 2), 11.0 / 16);
  EXPECT_DOUBLE_EQ(chance_tail(coins, 1), 15.0 / 16);
}

TEST(ChanceTail, MixesRowsWithDifferentChances) {
  const std::vector<double> chances = {0.5, 0.25};
  EXPECT_DOUBLE_EQ(chance_tail(chances, 2), 0.125);  // 1/2 * 1/4
  EXPECT_DOUBLE_EQ(chance_tail(chances, 1), 0.625);  // 1 - 1/2 * 3/4
}

TEST(ChanceTail, HasAnAnswerForTheEdges) {
  EXPECT_EQ(chance_tail({}, 0), 1);
  EXPECT_EQ(chance_tail({}, 1), 0);
  EXPECT_EQ(chance_tail(std::vector<double>{0.5}, -1), 1);
  EXPECT_EQ(chance_tail(std::vector<double>{0.5}, 2), 0);
  EXPECT_EQ(chance_tail(std::vector<double>{1, 1, 1}, 3), 1);
  EXPECT_EQ(chance_tail(std::vector<double>{0, 0}, 1), 0);
}

TEST(ChanceTail, DrawsTheLineAtFourteenOfSixteenCoins) {
  const std::vector<double> coins(16, 0.5);
  EXPECT_NEAR(chance_tail(coins, 13), 697.0 / 65536, 1e-15);
  EXPECT_GT(chance_tail(coins, 13), kGuessingChanceMax);
  EXPECT_LT(chance_tail(coins, 14), kGuessingChanceMax);
}

TEST(ChanceTail, KeepsTinyChances) {
  EXPECT_NEAR(std::log2(chance_tail(std::vector<double>(200, 0.5), 200)), -200, 1e-9);
}

TEST(ScoreCheck, CallsAModelThatIsAlwaysRightReliable) {
  const auto scores = score_check(Readout::kText, all_right());
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[0].type, QuestionType::kChoice);
  EXPECT_EQ(scores[1].type, QuestionType::kYesNo);
  EXPECT_EQ(scores[2].type, QuestionType::kScale);
  int rows = 0;
  for (const CheckScore& one : scores) {
    EXPECT_EQ(one.readout, Readout::kText);
    EXPECT_EQ(one.right, one.rows);
    EXPECT_LT(one.p_value, kGuessingChanceMax);
    EXPECT_TRUE(one.reliable);
    rows += one.rows;
  }
  EXPECT_EQ(static_cast<std::size_t>(rows), self_check_rows().size());
}

TEST(ScoreCheck, CallsAModelThatAlwaysTakesTheFirstOptionUnreliable) {
  const std::vector<std::size_t> picked(self_check_rows().size(), 0);
  for (const CheckScore& one : score_check(Readout::kLetters, picked)) {
    EXPECT_GT(one.p_value, 0.1);
    EXPECT_FALSE(one.reliable);
  }
}

TEST(ScoreCheck, CallsAModelThatIsNeverRightUnreliable) {
  std::vector<std::size_t> picked = all_right();
  for (std::size_t& pick : picked) pick = pick == 0 ? 1 : 0;
  for (const CheckScore& one : score_check(Readout::kLetters, picked)) {
    EXPECT_EQ(one.right, 0);
    EXPECT_EQ(one.p_value, 1);
    EXPECT_FALSE(one.reliable);
  }
}

TEST(ScoreCheck, ReportsTheMeanChanceOfItsRows) {
  const auto scores = score_check(Readout::kText, all_right());
  double sum = 0;
  int rows = 0;
  for (const SelfCheckRow& row : self_check_rows()) {
    if (row.type != QuestionType::kScale) continue;
    sum += 1.0 / static_cast<double>(row.options.size());
    rows++;
  }
  EXPECT_NEAR(scores[2].chance, sum / rows, 1e-15);
  EXPECT_NEAR(scores[1].chance, 0.5, 1e-15);
}

TEST(ChooseReadout, TakesTheOneWithMoreRightAndKeepsBothScores) {
  const std::vector<CheckScore> letters = {score(Readout::kLetters, QuestionType::kChoice, 9, true),
                                           score(Readout::kLetters, QuestionType::kYesNo, 1, false)};
  const std::vector<CheckScore> text = {score(Readout::kText, QuestionType::kChoice, 5, false),
                                        score(Readout::kText, QuestionType::kYesNo, 6, false)};
  const ReadoutChoice choice = choose_readout(letters, text);
  EXPECT_EQ(choice.readout, Readout::kText);
  ASSERT_EQ(choice.scores.size(), 4u);
  EXPECT_EQ(choice.scores[0].readout, Readout::kLetters);
  EXPECT_EQ(choice.scores[3].readout, Readout::kText);
}

TEST(ChooseReadout, GivesTiesToLetters) {
  const std::vector<CheckScore> letters = {score(Readout::kLetters, QuestionType::kChoice, 5, true)};
  const std::vector<CheckScore> text = {score(Readout::kText, QuestionType::kChoice, 5, true)};
  EXPECT_EQ(choose_readout(letters, text).readout, Readout::kLetters);
  EXPECT_EQ(choose_readout({}, {}).readout, Readout::kLetters);
}

TEST(ReliabilityOf, LooksUpReadoutAndType) {
  const std::vector<CheckScore> scores = {score(Readout::kLetters, QuestionType::kChoice, 9, true),
                                          score(Readout::kText, QuestionType::kChoice, 4, false)};
  EXPECT_EQ(reliability_of(scores, Readout::kLetters, QuestionType::kChoice), Reliability::kReliable);
  EXPECT_EQ(reliability_of(scores, Readout::kText, QuestionType::kChoice), Reliability::kUnreliable);
  EXPECT_EQ(reliability_of(scores, Readout::kText, QuestionType::kYesNo), Reliability::kUnknown);
  EXPECT_EQ(reliability_of({}, Readout::kHead, QuestionType::kChoice), Reliability::kUnknown);
}

}  // namespace
}  // namespace assay::decision
