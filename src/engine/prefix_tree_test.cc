#include "engine/prefix_tree.h"

#include <gtest/gtest.h>

namespace assay::engine {
namespace {

PrefixNode* find(const PrefixTree& tree, const PrefixNode* parent, const Tokens& tokens) {
  return tree.find(parent, tokens, PrefixTree::key(parent == nullptr ? PrefixTree::kRootKey : parent->key, tokens));
}

// system {1, 2} with two states below it.
struct Family {
  PrefixTree tree;
  PrefixNode* system = tree.add(nullptr, {1, 2}, {1}, 0);
  PrefixNode* first = tree.add(system, {3}, {2}, 1);
  PrefixNode* second = tree.add(system, {4, 5, 6}, {3}, 2);
};

TEST(PrefixTree, FindsASegmentOnlyBehindItsOwnParent) {
  Family family;
  EXPECT_EQ(find(family.tree, nullptr, {1, 2}), family.system);
  EXPECT_EQ(find(family.tree, family.system, {3}), family.first);
  EXPECT_EQ(find(family.tree, nullptr, {3}), nullptr);
  EXPECT_EQ(find(family.tree, family.first, {3}), nullptr);
  EXPECT_EQ(find(family.tree, family.system, {4, 5}), nullptr);  // whole segments only
  EXPECT_EQ(family.second->position, 2);
  EXPECT_EQ(family.second->end(), 5);
  EXPECT_EQ(family.tree.nodes(), 3);
  EXPECT_EQ(family.tree.tokens(), 6);
}

TEST(PrefixTree, AnEqualKeyIsNotEnough) {
  Family family;
  EXPECT_EQ(family.tree.find(nullptr, {9, 9}, family.system->key), nullptr);
}

TEST(PrefixTree, TheSameTokensCutElsewhereAreOtherSegments) {
  const PrefixKey whole = PrefixTree::key(PrefixTree::kRootKey, {1, 2, 3});
  EXPECT_NE(PrefixTree::key(PrefixTree::key(PrefixTree::kRootKey, {1, 2}), {3}), whole);
}

TEST(PrefixTree, DropsTheOneUsedLongestAgoAndParentsOnlyAfterTheirChildren) {
  Family family;
  family.tree.touch(family.first);
  constexpr std::int32_t kNone = 0;                          // held tokens
  EXPECT_EQ(family.tree.oldest_idle(kNone), family.second);  // system is older but has children
  family.tree.use(family.second);
  EXPECT_EQ(family.tree.oldest_idle(kNone), family.first);
  family.tree.remove(family.first);
  EXPECT_EQ(family.tree.oldest_idle(kNone), nullptr);
  family.tree.leave(family.second);
  family.tree.remove(family.second);
  EXPECT_EQ(family.tree.oldest_idle(kNone), family.system);
  family.tree.remove(family.system);
  EXPECT_EQ(family.tree.nodes(), 0);
  EXPECT_EQ(family.tree.tokens(), 0);
}

TEST(PrefixTree, WhatIsHeldGoesLast) {
  Family family;
  auto session = std::make_shared<const int>(1);
  PrefixTree::hold(family.first, session);
  PrefixTree::hold(family.first, session);
  EXPECT_EQ(family.first->holders.size(), 1u);
  family.tree.touch(family.second);
  EXPECT_EQ(family.tree.oldest_idle(3), family.second) << "although it was used later";
  family.tree.use(family.second);
  EXPECT_EQ(family.tree.oldest_idle(3), family.first) << "rather than nothing";
  family.tree.leave(family.second);
  session.reset();
  EXPECT_FALSE(family.first->is_held());
  EXPECT_EQ(family.tree.oldest_idle(3), family.first);
}

TEST(PrefixTree, HeldNodesOverTheirShareGoFirst) {
  Family family;
  const auto session = std::make_shared<const int>(1);
  PrefixTree::hold(family.second, session);  // three tokens
  EXPECT_EQ(family.tree.oldest_idle(3), family.first);
  family.tree.touch(family.second);
  EXPECT_EQ(family.tree.oldest_idle(2), family.second);
}

TEST(PrefixTree, DroppableIsWhatNoJobStandsOnOrBelow) {
  Family family;
  EXPECT_EQ(family.tree.droppable().size(), 3u);
  family.tree.use(family.second);
  EXPECT_EQ(family.tree.droppable(), (std::vector<const PrefixNode*>{family.first}));
  family.tree.leave(family.second);
  family.tree.use(family.system);
  EXPECT_EQ(family.tree.droppable().size(), 2u);
}

TEST(PrefixTree, CountsItsUsersAndTilesForTheEnginesInvariants) {
  Family family;
  family.tree.use(family.first);
  std::int32_t tiles = 0;
  std::int32_t sequences = 0;
  EXPECT_EQ(family.tree.count(tiles, sequences, {{family.first, 1}}), "");
  EXPECT_EQ(tiles, 3);
  EXPECT_EQ(sequences, 3);
  EXPECT_NE(family.tree.count(tiles, sequences, {}), "");
  family.second->tiles = {1};
  EXPECT_NE(family.tree.count(tiles, sequences, {{family.first, 1}}), "");
}

TEST(PrefixTreeDeathTest, ASegmentInUseIsNeverRemoved) {
  Family family;
  family.tree.use(family.first);
  EXPECT_DEATH(family.tree.remove(family.first), "assertion failed");
}

}  // namespace
}  // namespace assay::engine
