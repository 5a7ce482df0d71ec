#include "teach/folds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace assay::teach {
namespace {

TEST(Random, IsSplitMix64) {
  // The first numbers for seed 1234567, as the authors' own program prints them.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

TEST(Random, DrawsEveryNumberBelowTheBoundAboutEquallyOften) {
  Random random(1);
  std::vector<int> drawn(7);
  for (int i = 0; i < 70000; i++) drawn[random.below(7)]++;
  for (const int count : drawn) EXPECT_NEAR(count, 10000, 400);  // 4 standard deviations
}

TEST(Random, ShufflesWithoutLosingARow) {
  std::vector<std::size_t> rows(50);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<std::size_t> shuffled = rows;
  Random(5).shuffle(shuffled);
  EXPECT_NE(shuffled, rows);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, rows);
}

TEST(StratifiedFolds, SpreadEachClassAndAllRowsEvenly) {
  std::vector<std::size_t> classes;
  for (std::size_t k = 0; k < 6; k++) classes.insert(classes.end(), 3 * k + 1, k);  // 1, 4, 7, 10, 13, 16 rows
  const auto folds = stratified_folds(classes, 4, 9);
  for (std::size_t k = 0; k <= 6; k++) {  // 6: all rows
    std::vector<std::ptrdiff_t> counts(4);
    for (std::size_t row = 0; row < classes.size(); row++) {
      if (k == 6 || classes[row] == k) counts[folds[row]]++;
    }
    const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
    EXPECT_LE(*most - *fewest, 1) << "class " << k;
  }
}

TEST(StratifiedFolds, AreOfTheSeedAlone) {
  std::vector<std::size_t> classes(40);
  for (std::size_t row = 0; row < classes.size(); row++) classes[row] = row % 3;
  EXPECT_EQ(stratified_folds(classes, 5, 1), stratified_folds(classes, 5, 1));
  EXPECT_NE(stratified_folds(classes, 5, 1), stratified_folds(classes, 5, 2));
  EXPECT_TRUE(stratified_folds({}, 5, 1).empty());
}

}  // namespace
}  // namespace assay::teach
