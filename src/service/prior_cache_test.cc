#include "service/prior_cache.h"

#include <gtest/gtest.h>

namespace assay::service {
namespace {

std::shared_ptr<const Priors> priors(double number) { return std::make_shared<const Priors>(Priors{{number}}); }

TEST(PriorCache, FindsWhatWasInsertedUnderTheSameTokensOnly) {
  PriorCache cache(10);
  cache.insert({1, 2, -1}, priors(-0.5));
  ASSERT_NE(cache.find({1, 2, -1}), nullptr);
  EXPECT_EQ((*cache.find({1, 2, -1}))[0][0], -0.5);
  EXPECT_EQ(cache.find({1, -1, 2}), nullptr);
}

TEST(PriorCache, EvictsTheLeastRecentlyUsedWhenItsTokensRunOut) {
  PriorCache cache(6);
  cache.insert({1, 1}, priors(1));
  cache.insert({2, 2}, priors(2));
  cache.insert({3, 3}, priors(3));
  EXPECT_NE(cache.find({1, 1}), nullptr);  // now the most recent
  cache.insert({4, 4}, priors(4));
  EXPECT_EQ(cache.find({2, 2}), nullptr);
  EXPECT_NE(cache.find({1, 1}), nullptr);
  EXPECT_EQ(cache.tokens(), 6u);
  EXPECT_EQ(cache.size(), 3u);
}

TEST(PriorCache, AnEvictedEntryLivesAsLongAsItsReader) {
  PriorCache cache(2);
  cache.insert({1, 1}, priors(1));
  const std::shared_ptr<const Priors> held = cache.find({1, 1});
  cache.insert({2, 2}, priors(2));
  EXPECT_EQ(cache.find({1, 1}), nullptr);
  EXPECT_EQ((*held)[0][0], 1);
}

TEST(PriorCache, LeavesOutWhatIsLargerThanItself) {
  PriorCache cache(2);
  cache.insert({1, 2, 3}, priors(1));
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace assay::service
