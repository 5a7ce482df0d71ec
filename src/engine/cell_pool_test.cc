#include "engine/cell_pool.h"

#include <gtest/gtest.h>

namespace assay::engine {
namespace {

TEST(CellPool, NeverGivesTheTileOfPaddingRows) {
  CellPool pool(64, 16);
  EXPECT_EQ(pool.tiles(), 4);
  EXPECT_EQ(pool.free_tiles(), 3);
  EXPECT_EQ(pool.take(3, -1), (Tiles{1, 2, 3}));
  EXPECT_EQ(pool.free_tiles(), 0);
  EXPECT_FALSE(pool.take(1, -1).has_value());
  EXPECT_EQ(pool.take(0, 3), Tiles{});
}

TEST(CellPool, GivesTheLowestFreeTilesAboveAGivenOneAndAllOrNone) {
  CellPool pool(8 * 16, 16);
  const Tiles low = *pool.take(3, -1);
  EXPECT_EQ(pool.take(2, 4), (Tiles{5, 6}));
  pool.give_back({low[1]});
  EXPECT_FALSE(pool.can_take(2, 4));  // only 7 is left above 4
  EXPECT_FALSE(pool.take(2, 4).has_value());
  EXPECT_EQ(pool.free_tiles(), 3);
  EXPECT_TRUE(pool.can_take(3, -1));
  EXPECT_EQ(pool.take(3, -1), (Tiles{2, 4, 7}));
  pool.give_back_all();
  EXPECT_EQ(pool.free_tiles(), 7);
}

TEST(CellPool, MapsVirtualCellsThroughTheTiles) {
  EXPECT_EQ(CellPool::cell({2, 5}, 0, 16), 32);
  EXPECT_EQ(CellPool::cell({2, 5}, 15, 16), 47);
  EXPECT_EQ(CellPool::cell({2, 5}, 17, 16), 81);
}

TEST(CellPoolDeathTest, ATileIsGivenBackOnlyOnce) {
  CellPool pool(64, 16);
  const Tiles tiles = *pool.take(1, -1);
  pool.give_back(tiles);
  EXPECT_DEATH(pool.give_back(tiles), "assertion failed");
  EXPECT_DEATH(pool.give_back({0}), "assertion failed");
}

TEST(SequencePool, KeepsTheLastSequenceForPaddingRows) {
  SequencePool pool(4);
  EXPECT_EQ(pool.padding(), 3);
  EXPECT_EQ(pool.free_sequences(), 3);
  EXPECT_FALSE(pool.take(4).has_value());
  EXPECT_EQ(pool.take(2), (std::vector<SequenceId>{0, 1}));
  pool.give_back(0);
  EXPECT_EQ(pool.take(2), (std::vector<SequenceId>{0, 2}));
  EXPECT_EQ(pool.free_sequences(), 0);
  pool.give_back_all();
  EXPECT_EQ(pool.free_sequences(), 3);
}

}  // namespace
}  // namespace assay::engine
