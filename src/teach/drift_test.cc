#include "teach/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "teach/folds.h"

namespace assay::teach {
namespace {

DriftTest opened(const DriftSettings& settings) {
  auto test = DriftTest::open(settings);
  EXPECT_TRUE(test.ok());
  return *test;
}

double uniform(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

using Draw = std::function<double(Random&)>;

Draw coin(double mean) {
  return [mean](Random& random) { return uniform(random) < mean ? 1.0 : 0.0; };
}

// Like confidences: up to 0.25 off the mean, by 0.14 in standard deviation.
Draw spread(double mean) {
  return [mean](Random& random) { return mean + 0.5 * (uniform(random) - 0.5); };
}

// The number at which it alarms, or `limit` where it does not.
int alarms_at(DriftTest& test, const Draw& draw, Random& random, int limit) {
  for (int i = 1; i <= limit; i++) {
    test.add(draw(random));
    if (test.alarm()) return i;
  }
  return limit;
}

TEST(DriftTest, FirstNumberByHand) {
  // Of the money, 1 - 1 / (1 + ln 2) begins, 1/16 on each bet; x = 1 where 0.5 is expected gains each stake upwards and
  // loses it downwards, so that all together is as before.
  DriftTest test = opened({.expected_mean = 0.5});
  EXPECT_EQ(test.evidence(), 0);
  EXPECT_EQ(test.mean(), 0);
  test.add(1);
  EXPECT_NEAR(test.evidence(), 0, 1e-12);
  const double begun = 1 - 1 / (1 + std::log(2));
  EXPECT_NEAR(std::exp(test.state().log_wealth[0]), begun * 1.75, 1e-12);
  EXPECT_NEAR(std::exp(test.state().log_wealth[8]), begun * 0.25, 1e-12);
  EXPECT_EQ(test.count(), 1U);
  EXPECT_EQ(test.mean(), 1);
}

TEST(DriftTest, TheEValueIsAMartingale) {
  // Over all 2^10 paths of a fair coin with mean 0.25 its mean is 1, to the rounding.
  double mean = 0;
  for (int path = 0; path < 1024; path++) {
    DriftTest test = opened({.expected_mean = 0.25});
    double probability = 1;
    for (int bit = 0; bit < 10; bit++) {
      const bool one = (path >> bit) % 2 == 1;
      test.add(one ? 1 : 0);
      probability *= one ? 0.25 : 0.75;
    }
    mean += probability * std::exp(test.evidence());
  }
  EXPECT_NEAR(mean, 1, 1e-10);
}

TEST(DriftTest, RarelyAlarmsWhileTheMeanIsAsExpected) {
  constexpr int kRuns = 400;
  constexpr double kRate = 0.05;
  const struct {
    const char* name;
    DriftSettings settings;
    Draw draw;
  } cases[] = {
      {"coin 0.5", {.expected_mean = 0.5, .false_alarm_rate = kRate}, coin(0.5)},
      {"coin 0.97", {.expected_mean = 0.97, .false_alarm_rate = kRate}, coin(0.97)},
      {"spread 0.6", {.expected_mean = 0.6, .false_alarm_rate = kRate}, spread(0.6)},
      {"off by the tolerance", {.expected_mean = 0.6, .tolerance = 0.05, .false_alarm_rate = kRate}, spread(0.65)},
  };
  for (const auto& one : cases) {
    Random random(41);
    int alarms = 0;
    for (int run = 0; run < kRuns; run++) {
      DriftTest test = opened(one.settings);
      alarms_at(test, one.draw, random, 5000);
      if (test.alarm()) alarms++;
    }
    std::printf("%-20s seed 41: %d of %d runs of 5000 alarmed\n", one.name, alarms, kRuns);
    EXPECT_LE(alarms, kRate * kRuns) << one.name;
  }
}

TEST(DriftTest, SeesAShiftOfATenthWithinSomeHundreds) {
  for (const double shift : {-0.1, 0.1}) {
    for (const int before : {0, 2000, 20000}) {
      Random random(42);
      double mean = 0;
      for (int run = 0; run < 50; run++) {
        DriftTest test = opened({.expected_mean = 0.7, .false_alarm_rate = 0.01});
        alarms_at(test, spread(0.7), random, before);
        if (test.alarm()) continue;  // one in a hundred may
        mean += alarms_at(test, spread(0.7 + shift), random, 5000) / 50.0;
        EXPECT_TRUE(test.alarm());
      }
      std::printf("shift %+.1f after %5d, seed 42: seen after %.0f on average\n", shift, before, mean);
      EXPECT_LT(mean, before == 0 ? 200 : 500);
    }
  }
}

TEST(DriftTest, SeesACoinsShiftAndASmallOneInTheEnd) {
  Random random(43);
  DriftTest coins = opened({.expected_mean = 0.5});
  EXPECT_LT(alarms_at(coins, coin(0.6), random, 5000), 2000);
  DriftTest small = opened({.expected_mean = 0.7});
  EXPECT_LT(alarms_at(small, spread(0.72), random, 50000), 20000);
}

TEST(DriftTest, ExpectedMeansAtTheEnds) {
  DriftTest sure = opened({.expected_mean = 1});
  for (int i = 0; i < 100000; i++) sure.add(1);
  EXPECT_FALSE(sure.alarm());
  for (int i = 0; i < 200 && !sure.alarm(); i++) sure.add(0.9);
  EXPECT_TRUE(sure.alarm());
  DriftTest never = opened({.expected_mean = 0});
  for (int i = 0; i < 1000; i++) never.add(0);
  EXPECT_FALSE(never.alarm());
  for (int i = 0; i < 20; i++) never.add(1);
  EXPECT_TRUE(never.alarm());
  // With a tolerance that leaves no room nothing alarms.
  DriftTest anything = opened({.expected_mean = 0.5, .tolerance = 0.5});
  for (int i = 0; i < 1000; i++) anything.add(i < 500 ? 0 : 1);
  EXPECT_FALSE(anything.alarm());
}

TEST(DriftTest, StaysFiniteAndLatched) {
  DriftTest test = opened({.expected_mean = 0.3});
  for (int i = 0; i < 100000; i++) test.add(1);
  EXPECT_TRUE(test.alarm());
  EXPECT_TRUE(std::isfinite(test.evidence()));
  for (int i = 0; i < 1000000; i++) test.add(0.3);
  for (int i = 0; i < 100000; i++) test.add(0);
  EXPECT_TRUE(test.alarm());
  EXPECT_TRUE(std::isfinite(test.evidence()));
}

TEST(DriftTest, ClampsWhatIsOutsideAndPassesOverNan) {
  DriftTest plain = opened({}), odd = opened({});
  plain.add(1);
  plain.add(0);
  odd.add(std::numeric_limits<double>::infinity());
  odd.add(std::numeric_limits<double>::quiet_NaN());
  odd.add(-3);
  EXPECT_EQ(plain.state().log_wealth, odd.state().log_wealth);
  EXPECT_EQ(odd.count(), 2U);
  EXPECT_EQ(odd.mean(), 0.5);
}

TEST(DriftTest, GoesOnFromAState) {
  Random random(5);
  DriftTest whole = opened({.expected_mean = 0.6});
  for (int i = 0; i < 100; i++) whole.add(uniform(random));
  auto again = DriftTest::resume(whole.state());
  ASSERT_TRUE(again.ok());
  whole.add(0.2);
  again->add(0.2);
  EXPECT_EQ(again->evidence(), whole.evidence());
  DriftState damaged = whole.state();
  damaged.log_wealth[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(DriftTest::resume(damaged).error().field, "log_wealth");
}

TEST(DriftTest, RefusesSettingsOutOfRange) {
  const auto field = [](const DriftSettings& settings) {
    const auto test = DriftTest::open(settings);
    return test.ok() ? std::string("none") : test.error().field;
  };
  EXPECT_EQ(field({.expected_mean = -1}), "expected_mean");
  EXPECT_EQ(field({.expected_mean = std::numeric_limits<double>::quiet_NaN()}), "expected_mean");
  EXPECT_EQ(field({.tolerance = -0.1}), "tolerance");
  EXPECT_EQ(field({.false_alarm_rate = 0}), "false_alarm_rate");
  EXPECT_EQ(field({.false_alarm_rate = 1}), "false_alarm_rate");
}

}  // namespace
}  // namespace assay::teach
