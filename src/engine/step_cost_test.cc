#include "engine/step_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay::engine {
namespace {

// A machine on which a row takes 0.25 ms, and 0.0002 ms more for each row before it.
constexpr double kRowMs = 0.25;
constexpr double kDepthMs = 2e-4;
constexpr double kWeight = kDepthMs / kRowMs;
constexpr std::int32_t kFewRows = 64;

double depths_of(std::int32_t rows, std::int32_t from) { return rows * (from + (rows - 1) / 2.0); }
double ms_of(std::int32_t rows, std::int32_t from) { return kRowMs * rows + kDepthMs * depths_of(rows, from); }

void learn(StepCost& cost, std::int32_t rows, std::int32_t from, double noise = 1) {
  cost.learn(rows, depths_of(rows, from), ms_of(rows, from) * noise);
}

TEST(StepCost, KnowsNothingBeforeTheFirstStep) {
  StepCost cost(kFewRows);
  EXPECT_EQ(cost.units_per_second(), 0);
  EXPECT_EQ(cost.depth_weight(), 0);
  cost.learn(64, 0, 0);
  EXPECT_EQ(cost.units_per_second(), 0);
}

TEST(StepCost, FindsBothTimesFromOneLongPrompt) {
  StepCost cost(kFewRows);
  for (std::int32_t from = 0; from < 8000; from += 128) learn(cost, 128, from);
  EXPECT_NEAR(cost.depth_weight(), kWeight, 0.01 * kWeight);
  EXPECT_NEAR(cost.units_per_second(), 1e3 / kRowMs, 20);
  // A step of 100 ms far behind and one at the beginning.
  const double units = cost.units_per_second() * 0.1;
  for (const std::int32_t from : {0, 2000, 7900}) {
    const std::int32_t rows = cost.rows_within(units, from);
    EXPECT_NEAR(ms_of(rows, from), 100, 2) << from;
  }
}

TEST(StepCost, IsNotLedAstrayByNoise) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.15);
  StepCost cost(kFewRows);
  for (int prompt = 0; prompt < 3; prompt++) {
    for (std::int32_t from = 0; from < 8000; from += 128) learn(cost, 128, from, noise(random));
    for (int i = 0; i < 10; i++) learn(cost, 150, 0, noise(random));
  }
  EXPECT_NEAR(cost.depth_weight(), kWeight, 0.3 * kWeight);
}

TEST(StepCost, WhereDepthCostsNothingItSaysSo) {
  StepCost cost(kFewRows);
  for (std::int32_t from = 0; from < 4000; from += 100) cost.learn(100, depths_of(100, from), 50);
  EXPECT_NEAR(cost.depth_weight(), 0, 1e-9);
  EXPECT_EQ(cost.rows_within(400, 3000), 400);
  // Faster behind than in front is no law of nature.
  StepCost odd(kFewRows);
  for (std::int32_t from = 0; from < 4000; from += 100) odd.learn(100, depths_of(100, from), 50 - from / 100.0);
  EXPECT_EQ(odd.depth_weight(), 0);
}

TEST(StepCost, AMachineThatBecomesSlowerIsNoticedWithinAFewSteps) {
  StepCost cost(kFewRows);
  for (std::int32_t from = 0; from < 8000; from += 128) learn(cost, 128, from);
  const double before = cost.units_per_second();
  for (int i = 0; i < 12; i++) learn(cost, 128, i * 128, 2);
  EXPECT_NEAR(cost.units_per_second(), before / 2, 0.1 * before);
}

TEST(StepCost, TheFirstDecodeAfterAStartIsForgottenAtTheSecond) {
  StepCost cost(kFewRows);
  learn(cost, 64, 0, 200);
  EXPECT_LT(cost.units_per_second(), 21);
  EXPECT_EQ(cost.best_units_per_second(), 0) << "nothing is refused by it";
  learn(cost, 64, 0);
  EXPECT_NEAR(cost.units_per_second(), 1e3 / kRowMs, 0.03 * 1e3 / kRowMs);
  EXPECT_NEAR(cost.best_units_per_second(), 1e3 / kRowMs, 0.03 * 1e3 / kRowMs);
}

TEST(StepCost, FewRowsThatTakeAsLongAsManyTeachNothingAboutMany) {
  StepCost cost(kFewRows);
  const double full = ms_of(kFewRows, 0);
  for (int i = 0; i < 3; i++) cost.learn(2, 1, full);
  EXPECT_LT(cost.units_per_second(), 200);  // all that is known
  EXPECT_NEAR(cost.best_units_per_second(), 1e3 / kRowMs, 0.03 * 1e3 / kRowMs);
  learn(cost, 128, 0);
  const double known = cost.units_per_second();
  EXPECT_NEAR(known, 128 / ms_of(128, 0) * 1e3, 1);
  for (int i = 0; i < 30; i++) cost.learn(2, 1, full);
  EXPECT_EQ(cost.units_per_second(), known);
  // Few rows far behind are many units.
  for (std::int32_t from = 0; from < 8000; from += 128) learn(cost, 128, from);
  for (int i = 0; i < 12; i++) learn(cost, 20, 8000, 2);
  const double ms = cost.units(20, depths_of(20, 8000)) / cost.units_per_second() * 1e3;
  EXPECT_NEAR(ms, 2 * ms_of(20, 8000), 0.1 * ms);
}

TEST(StepCost, FewRowsThatAreFasterThanWasThoughtAreBelieved) {
  StepCost cost(kFewRows);
  for (int i = 0; i < 3; i++) learn(cost, 128, 0, 100);  // the machine was busy, and steps have become small
  EXPECT_LT(cost.units_per_second(), 50);
  for (int i = 0; i < 20; i++) cost.learn(4, 0, 4);
  EXPECT_NEAR(cost.units_per_second(), 1000, 10);
  EXPECT_NEAR(cost.best_units_per_second(), 16'000, 10);
  for (int i = 0; i < 30; i++) learn(cost, 128, 0);
  EXPECT_NEAR(cost.best_units_per_second(), 1e3 / kRowMs, 0.1 * 1e3 / kRowMs) << "a best of long ago fades";
}

TEST(StepCost, RowsAndUnitsAreEachOthersInverse) {
  StepCost cost(kFewRows);
  for (std::int32_t from = 0; from < 8000; from += 128) learn(cost, 128, from);
  for (const std::int32_t from : {0, 100, 5000}) {
    for (const std::int32_t rows : {1, 64, 500}) {
      const double units = cost.units_up_to(rows, from + rows);
      EXPECT_EQ(cost.rows_within(units, from), rows);
      EXPECT_EQ(cost.rows_within(units * 0.999, from), rows - 1);
    }
  }
  EXPECT_EQ(cost.rows_within(0, 10), 0);
  EXPECT_EQ(cost.rows_within(-1, 10), 0);
}

}  // namespace
}  // namespace assay::engine
