#include "engine/token_tree.h"

#include <gtest/gtest.h>

namespace assay::engine {
namespace {

TEST(TokenTree, SharesTheRowsOfACommonBeginning) {
  TokenTree tree;
  const std::int32_t red = tree.add_path(Tokens{1, 2, 3});
  const std::int32_t blue = tree.add_path(Tokens{1, 2, 4});
  EXPECT_EQ(tree.size(), 4u);
  EXPECT_EQ(tree.path(red), (Tokens{1, 2, 3}));
  EXPECT_EQ(tree.path(blue), (Tokens{1, 2, 4}));
  EXPECT_EQ(tree.children(1), (std::vector<std::int32_t>{red, blue}));
  EXPECT_EQ(tree.rows()[blue].position, 2);
}

TEST(TokenTree, AnEmptyPathIsItsParent) {
  TokenTree tree;
  const std::int32_t row = tree.add_path(Tokens{5});
  EXPECT_EQ(tree.add_path({}, row), row);
  EXPECT_EQ(tree.add_path({}), TokenTree::kRoot);
}

TEST(TokenTree, APathThatBeginsAnotherIsItsInnerRow) {
  TokenTree tree;
  const std::int32_t sales = tree.add_path(Tokens{7, 8});
  const std::int32_t sale = tree.add_path(Tokens{7});
  EXPECT_EQ(tree.size(), 2u);
  EXPECT_EQ(tree.rows()[sales].parent, sale);
}

TEST(TokenTree, KeepsSeveralRoots) {
  TokenTree tree;
  tree.add_path(Tokens{1});
  tree.add_path(Tokens{2});
  EXPECT_EQ(tree.children(TokenTree::kRoot), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(tree.rows()[1].position, 0);
}

}  // namespace
}  // namespace assay::engine
