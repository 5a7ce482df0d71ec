#include "server/http/rate_limit.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace assay::server {
namespace {

int taken_at_once(RateLimit& limit, const std::string& client, int tries) {
  int taken = 0;
  for (int i = 0; i < tries; ++i) taken += limit.take(client).has_value() ? 0 : 1;
  return taken;
}

TEST(RateLimit, WithoutALimitNobodyWaits) {
  const ManualClock clock;
  for (const double none : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    RateLimit limit(none, clock);
    EXPECT_FALSE(limit.limits());
    EXPECT_EQ(taken_at_once(limit, "a", 1000), 1000);
  }
}

TEST(RateLimit, AMinutesRequestsComeAtOnceAndThenOneByOne) {
  ManualClock clock;
  RateLimit limit(60, clock);
  EXPECT_EQ(taken_at_once(limit, "a", 100), 60);
  EXPECT_NEAR(limit.take("a").value(), 1.0, 1e-9);
  clock.advance_ms(250);
  EXPECT_NEAR(limit.take("a").value(), 0.75, 1e-9);
  clock.advance_ms(750);
  EXPECT_EQ(taken_at_once(limit, "a", 10), 1);
}

TEST(RateLimit, WhoWaitsAsLongAsWasSaidIsServed) {
  ManualClock clock;
  RateLimit limit(7, clock);
  EXPECT_EQ(taken_at_once(limit, "a", 100), 7);
  for (int i = 0; i < 50; ++i) {
    const double wait = limit.take("a").value();
    EXPECT_GT(wait, 0);
    clock.advance_ms(wait * 1e3 + 1e-3);
    EXPECT_FALSE(limit.take("a").has_value());
  }
}

TEST(RateLimit, ARefusalCostsNothing) {
  ManualClock clock;
  RateLimit limit(60, clock);
  EXPECT_EQ(taken_at_once(limit, "a", 10'000), 60);
  clock.advance_ms(1000);
  EXPECT_FALSE(limit.take("a").has_value());
}

TEST(RateLimit, ABucketHoldsNoMoreThanAMinute) {
  ManualClock clock;
  RateLimit limit(5, clock);
  clock.advance_ms(3'600'000);
  EXPECT_EQ(taken_at_once(limit, "a", 100), 5);
  clock.advance_ms(3'600'000);
  EXPECT_EQ(taken_at_once(limit, "a", 100), 5);
}

TEST(RateLimit, LessThanOneAMinuteIsStillOneAtATime) {
  ManualClock clock;
  RateLimit limit(0.5, clock);
  EXPECT_FALSE(limit.take("a").has_value());
  EXPECT_NEAR(limit.take("a").value(), 120, 1e-6);
  clock.advance_ms(120'000);
  EXPECT_EQ(taken_at_once(limit, "a", 10), 1);
}

TEST(RateLimit, ClientsHaveTheirOwnBuckets) {
  const ManualClock clock;
  RateLimit limit(3, clock);
  EXPECT_EQ(taken_at_once(limit, "a", 10), 3);
  EXPECT_EQ(taken_at_once(limit, "b", 10), 3);
  EXPECT_EQ(taken_at_once(limit, "", 10), 3);
}

TEST(RateLimit, OnlyTheQuietestClientIsForgotten) {
  const ManualClock clock;
  RateLimit limit(2, clock, 2);
  EXPECT_EQ(taken_at_once(limit, "a", 5), 2);
  EXPECT_EQ(taken_at_once(limit, "b", 5), 2);
  EXPECT_TRUE(limit.take("a").has_value());
  EXPECT_EQ(taken_at_once(limit, "c", 5), 2);  // "b" was quiet longest
  EXPECT_TRUE(limit.take("a").has_value());
  EXPECT_EQ(taken_at_once(limit, "b", 5), 2);
}

TEST(RateLimit, ThreadsTakeNoTokenTwice) {
  const ManualClock clock;
  RateLimit limit(1000, clock);
  std::vector<int> taken(4);
  std::vector<std::thread> threads;
  threads.reserve(taken.size());
  for (int& count : taken) threads.emplace_back([&] { count = taken_at_once(limit, "a", 500); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken[0] + taken[1] + taken[2] + taken[3], 1000);
}

}  // namespace
}  // namespace assay::server
