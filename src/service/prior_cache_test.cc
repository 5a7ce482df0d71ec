#include "service/prior_cache.h"

#include <gtest/gtest.h>

namespace assay::service {
namespace {

std::shared_ptr<const Priors> priors(double number) { return std::make_shared<const Priors>(Priors{{number}}); }

void insert(PriorCache& cache, const PriorKey& key, double number) {
  ASSERT_TRUE(cache.begin(key).mine);
  cache.finish(key, priors(number));
}

// What is there already; nullptr otherwise.
std::shared_ptr<const Priors> find(PriorCache& cache, const PriorKey& key) {
  const PriorCache::Lookup lookup = cache.begin(key);
  if (lookup.mine) cache.finish(key, nullptr);
  return lookup.priors;
}

TEST(PriorCache, FindsWhatWasInsertedUnderTheSameTokensOnly) {
  PriorCache cache(10);
  insert(cache, {1, 2, -1}, -0.5);
  ASSERT_NE(find(cache, {1, 2, -1}), nullptr);
  EXPECT_EQ((*find(cache, {1, 2, -1}))[0][0], -0.5);
  EXPECT_EQ(find(cache, {1, -1, 2}), nullptr);
}

TEST(PriorCache, OneComputesForAllWhoAskMeanwhile) {
  PriorCache cache(10);
  ASSERT_TRUE(cache.begin({1}).mine);
  const PriorCache::Lookup second = cache.begin({1});
  ASSERT_FALSE(second.mine);
  ASSERT_TRUE(second.pending.valid());
  cache.finish({1}, priors(3));
  EXPECT_EQ((*second.pending.get())[0][0], 3);
  EXPECT_EQ((*find(cache, {1}))[0][0], 3);
}

TEST(PriorCache, WhoeverWaitedForOneThatFailedMayTryItself) {
  PriorCache cache(10);
  ASSERT_TRUE(cache.begin({1}).mine);
  const PriorCache::Lookup second = cache.begin({1});
  cache.finish({1}, nullptr);
  EXPECT_EQ(second.pending.get(), nullptr);
  EXPECT_TRUE(cache.begin({1}).mine);
}

TEST(PriorCache, EvictsTheLeastRecentlyUsedWhenItsTokensRunOut) {
  PriorCache cache(6);
  insert(cache, {1, 1}, 1);
  insert(cache, {2, 2}, 2);
  insert(cache, {3, 3}, 3);
  EXPECT_NE(find(cache, {1, 1}), nullptr);  // now the most recent
  insert(cache, {4, 4}, 4);
  EXPECT_EQ(find(cache, {2, 2}), nullptr);
  EXPECT_EQ(cache.tokens(), 6u);
  EXPECT_EQ(cache.size(), 3u);
}

TEST(PriorCache, AnEvictedEntryLivesAsLongAsItsReader) {
  PriorCache cache(2);
  insert(cache, {1, 1}, 1);
  const std::shared_ptr<const Priors> held = find(cache, {1, 1});
  insert(cache, {2, 2}, 2);
  EXPECT_EQ(find(cache, {1, 1}), nullptr);
  EXPECT_EQ((*held)[0][0], 1);
}

TEST(PriorCache, LeavesOutWhatIsLargerThanItself) {
  PriorCache cache(2);
  insert(cache, {1, 2, 3}, 1);
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace assay::service
