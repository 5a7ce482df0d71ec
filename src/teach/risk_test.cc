#include "teach/risk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>

#include "teach/folds.h"

namespace assay::teach {
namespace {

std::vector<RiskRow> copies(std::size_t count, double confidence, bool right, std::size_t answered = 0) {
  return std::vector<RiskRow>(count, RiskRow{.confidence = confidence, .answered = answered, .right = right});
}

std::vector<RiskRow> joined(std::initializer_list<std::vector<RiskRow>> parts) {
  std::vector<RiskRow> rows;
  for (const auto& part : parts) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

Threshold only(const std::vector<RiskRow>& rows, const RiskSettings& settings = {}) {
  const auto thresholds = find_thresholds(rows, settings);
  EXPECT_TRUE(thresholds.ok());
  EXPECT_EQ(thresholds->size(), 1U);
  return thresholds->front();
}

TEST(BinomialTail, IsTheSumOfItsTerms) {
  EXPECT_NEAR(binomial_tail(0, 3, 0.5), 0.125, 1e-15);
  EXPECT_NEAR(binomial_tail(1, 3, 0.5), 0.5, 1e-15);
  EXPECT_NEAR(binomial_tail(2, 3, 0.5), 0.875, 1e-15);
  EXPECT_EQ(binomial_tail(3, 3, 0.5), 1);
  EXPECT_EQ(binomial_tail(0, 0, 0.5), 1);
  for (const double p : {0.001, 0.05, 0.3, 0.9}) {
    double term = std::pow(1 - p, 40), sum = 0;
    for (std::size_t k = 0; k < 40; k++) {
      sum += term;
      EXPECT_NEAR(binomial_tail(k, 40, p), sum, 1e-12) << p << " " << k;
      term *= (40.0 - static_cast<double>(k)) / (static_cast<double>(k) + 1) * p / (1 - p);
    }
  }
}

TEST(BinomialTail, HoldsForManyRows) {
  // Half of a symmetric distribution, and both far ends.
  EXPECT_NEAR(binomial_tail(500000, 1000001, 0.5), 0.5, 1e-7);
  EXPECT_EQ(binomial_tail(900000, 1000000, 0.05), 1);
  EXPECT_EQ(binomial_tail(10, 1000000, 0.05), 0);
}

TEST(FewestRows, IsWhatAnUnbrokenRowOfRightAnswersNeeds) {
  EXPECT_EQ(fewest_rows(0.05, 0.9), 45U);  // 0.95^45 = 0.0994
  EXPECT_EQ(fewest_rows(0.5, 0.75), 2U);
  EXPECT_EQ(fewest_rows(0.99, 0.01), 1U);
}

double choose(std::size_t n, std::size_t k) {
  double out = 1;
  for (std::size_t i = 0; i < k; i++) out = out * static_cast<double>(n - i) / static_cast<double>(i + 1);
  return out;
}

TEST(NextTail, IsTheSumOfItsTerms) {
  // Of 3 labelled and 1 to come two are wrong; that it is not two of the labelled ones: 1 - 3 / 6.
  EXPECT_NEAR(next_tail(1, 3, 0.5, 1), 0.5, 1e-12);
  EXPECT_NEAR(next_tail(0, 9, 0.05, 1), 0.1, 1e-12);
  EXPECT_EQ(next_tail(3, 3, 0.5, 7), 1);
  for (const double risk : {0.05, 0.3}) {
    for (const std::size_t next : {1U, 7U, 40U}) {
      const auto too_many = static_cast<std::size_t>(std::floor(risk * static_cast<double>(next) + 1e-9)) + 1;
      for (std::size_t wrong = 0; wrong <= 30; wrong++) {
        double sum = 0;
        for (std::size_t j = 0; j <= wrong; j++) {
          const std::size_t others = wrong + too_many - j;
          if (others <= next) sum += choose(30, j) * choose(next, others) / choose(30 + next, wrong + too_many);
        }
        EXPECT_NEAR(next_tail(wrong, 30, risk, next), sum, 1e-11) << risk << " " << next << " " << wrong;
      }
    }
  }
}

TEST(NextTail, IsTheLongRunsFromFarAway) {
  for (const std::size_t wrong : {0U, 5U, 20U, 40U})
    EXPECT_NEAR(next_tail(wrong, 400, 0.05, kHorizonMax), binomial_tail(wrong, 400, 0.05), 2e-3) << wrong;
  // Chance has a larger part in fewer answers.
  EXPECT_GT(next_tail(10, 400, 0.05, 100), next_tail(10, 400, 0.05, 1000));
  EXPECT_GT(next_tail(10, 400, 0.05, 1000), binomial_tail(10, 400, 0.05));
}

TEST(NextTail, CountsWhatTheRiskAllowsExactly) {
  // 29 of 100 are no more than 0.29, though 0.29 * 100 is less than 29 in double.
  EXPECT_NEAR(next_tail(0, 1, 0.29, 100), next_tail(0, 1, 0.295, 100), 1e-12);
}

TEST(FewestRows, GrowsWithAShorterHorizon) {
  EXPECT_EQ(fewest_rows(0.05, 0.85, 1), 6U);    // 1 / 7
  EXPECT_EQ(fewest_rows(0.05, 0.85, 10), 57U);  // 10 / 67: none of ten may be wrong
  EXPECT_EQ(fewest_rows(0.05, 0.9, kHorizonMax), 45U);
}

TEST(FindThresholds, WithAHorizonChanceIsInIt) {
  const RiskSettings ten{.level = 0.85, .horizon = 10};
  EXPECT_FALSE(only(copies(56, 0.6, true), ten).value.has_value());
  EXPECT_EQ(only(copies(56, 0.6, true), ten).rows_missing, 1U);
  const Threshold found = only(copies(57, 0.6, true), ten);
  EXPECT_EQ(found.value, 0.6);
  EXPECT_EQ(found.horizon, 10U);
  // 2 % wrong, then 4 %: good enough in the long run, not for the next hundred.
  const auto rows =
      joined({copies(980, 0.9, true), copies(20, 0.9, false), copies(960, 0.7, true), copies(40, 0.7, false)});
  EXPECT_EQ(only(rows).value, 0.7);
  EXPECT_EQ(only(rows, {.horizon = 100}).value, 0.9);
  // 4 % wrong, of the next hundred with more than 5 by chance in a fifth of all cases: no labels help against that.
  const Threshold none = only(joined({copies(9600, 0.9, true), copies(400, 0.9, false)}), {.horizon = 100});
  EXPECT_FALSE(none.value.has_value());
  EXPECT_EQ(none.rows_missing, 0U);
}

TEST(FindThresholds, ActsOnAllWhereAllAreRight) {
  const Threshold found = only(copies(45, 0.6, true));
  EXPECT_EQ(found.value, 0.6);
  EXPECT_EQ(found.coverage, 1);
  EXPECT_EQ(found.error, 0);
  EXPECT_EQ(found.rows, 45U);
  EXPECT_EQ(found.rows_missing, 0U);
}

TEST(FindThresholds, SaysHowManyAreMissing) {
  const Threshold found = only(copies(44, 0.6, true));
  EXPECT_FALSE(found.value.has_value());
  EXPECT_EQ(found.rows_missing, 1U);
  EXPECT_EQ(only({}).rows_missing, 45U);
  // One wrong of three is no proof that it cannot be better.
  EXPECT_EQ(only(joined({copies(2, 0.9, true), copies(1, 0.8, false)})).rows_missing, 42U);
  // A fifth of the rows is sure and right, so five rows for each that is needed: with three starts, 67.
  const Threshold few = only(joined({copies(20, 0.9, true), copies(40, 0.5, true), copies(40, 0.5, false)}));
  EXPECT_FALSE(few.value.has_value());
  EXPECT_EQ(few.rows_missing, 235U);
}

TEST(FindThresholds, WhatItSaysIsMissingIsEnough) {
  // 2 % wrong of the surest half: so many more of the same, and it passes.
  const auto rows_of = [](std::size_t half) {
    const std::size_t wrong = (half + 49) / 50;
    return joined({copies(half - wrong, 0.9, true), copies(wrong, 0.9, false), copies(half, 0.3, false)});
  };
  const Threshold found = only(rows_of(50));
  ASSERT_FALSE(found.value.has_value());
  ASSERT_GT(found.rows_missing, 0U);
  EXPECT_EQ(only(rows_of((100 + found.rows_missing + 1) / 2)).value, 0.9);
}

TEST(FindThresholds, SaysThatMoreRowsWouldNotHelp) {
  const Threshold wrong = only(copies(500, 0.99, false));
  EXPECT_FALSE(wrong.value.has_value());
  EXPECT_EQ(wrong.rows_missing, 0U);
  EXPECT_EQ(only(copies(5, 0.99, false)).rows_missing, 0U);
  EXPECT_EQ(only(joined({copies(50, 0.9, false), copies(450, 0.9, true)})).rows_missing, 0U);
}

TEST(FindThresholds, TakesTiesWholeAndStopsBeforeTheWrongOnes) {
  const Threshold found = only(joined({copies(100, 0.97, true), copies(100, 0.85, true), copies(100, 0.6, false)}));
  EXPECT_EQ(found.value, 0.85);
  EXPECT_NEAR(found.coverage, 2.0 / 3, 1e-12);
  // Half of the rows of one confidence cannot be acted on.
  EXPECT_FALSE(only(joined({copies(100, 0.9, true), copies(100, 0.9, false)})).value.has_value());
}

TEST(FindThresholds, OneWrongAtTheTopDoesNotEndIt) {
  // Starts at 67, 134 and 268 rows; the first fails, as none of 67 may be wrong.
  std::vector<RiskRow> rows = copies(1, 0.999, false);
  for (int i = 0; i < 399; i++) rows.push_back({.confidence = 0.99 - 0.002 * i, .right = true});
  const Threshold found = only(rows);
  ASSERT_TRUE(found.value.has_value());
  EXPECT_EQ(found.coverage, 1);
  EXPECT_NEAR(found.error, 1.0 / 400, 1e-12);
}

TEST(FindThresholds, KeepsConfidencesCloseToOneApart) {
  const Threshold found = only(joined({copies(100, 1, true), copies(100, 0.99995, false)}));
  ASSERT_TRUE(found.value.has_value());
  EXPECT_GT(*found.value, 0.99995);
  EXPECT_EQ(found.coverage, 0.5);
}

TEST(FindThresholds, ByOptionEachHasItsOwnAtAHigherLevel) {
  const RiskSettings settings{.by_option = true, .options = {"a", "b", "c"}};
  // At 1 - 0.1 / 3 an unbroken row needs 67.
  const auto found = find_thresholds(joined({copies(67, 0.8, true, 0), copies(66, 0.8, true, 1)}), settings);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3U);
  EXPECT_EQ((*found)[0].option, "a");
  EXPECT_EQ((*found)[0].value, 0.8);
  EXPECT_EQ((*found)[0].coverage, 1);
  EXPECT_EQ((*found)[0].level, 0.9);
  EXPECT_FALSE((*found)[1].value.has_value());
  EXPECT_EQ((*found)[1].rows, 66U);
  EXPECT_EQ((*found)[1].rows_missing, 1U);
  EXPECT_EQ((*found)[2].option, "c");
  EXPECT_EQ((*found)[2].rows_missing, 67U);
}

TEST(FindThresholds, RefusesWhatMakesNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto field = [](const std::vector<RiskRow>& rows, const RiskSettings& settings) {
    const auto found = find_thresholds(rows, settings);
    return found.ok() ? std::string("none") : found.error().field;
  };
  EXPECT_EQ(field(joined({copies(1, 0.5, true), copies(1, nan, true)}), {}), "rows[1].confidence");
  EXPECT_EQ(field(copies(1, 1.5, true), {}), "rows[0].confidence");
  EXPECT_EQ(field(copies(1, 0.5, true, 2), {.options = {"a", "b"}}), "rows[0].answered");
  EXPECT_EQ(field({}, {.risk = 0}), "risk");
  EXPECT_EQ(field({}, {.risk = nan}), "risk");
  EXPECT_EQ(field({}, {.level = 1}), "level");
  EXPECT_EQ(field({}, {.horizon = kHorizonMax + 1}), "horizon");
  EXPECT_EQ(field({}, {.by_option = true}), "options");
}

// A population: the confidence at each u in (0, 1), and how often an answer of that confidence is right.
struct Population {
  const char* name;
  std::function<double(double)> confidence;
  std::function<double(double)> right;
};

double uniform(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

// How often an answer with a confidence of at least `value` is wrong.
double true_risk(const Population& population, double value) {
  double acted = 0, wrong = 0;
  for (int i = 0; i < 20000; i++) {
    const double confidence = population.confidence((i + 0.5) / 20000);
    if (confidence < value) continue;
    acted++;
    wrong += 1 - population.right(confidence);
  }
  return acted > 0 ? wrong / acted : 0;
}

struct Outcome {
  double violated = 0, coverage = 0;
};

RiskRow drawn(const Population& population, Random& random) {
  const double confidence = population.confidence(uniform(random));
  return {.confidence = confidence, .right = uniform(random) < population.right(confidence)};
}

// Are more than a twentieth of the next `horizon` answers acted on wrong?
bool next_are_wrong(const Population& population, double value, std::size_t horizon, Random& random) {
  std::size_t acted = 0, wrong = 0;
  while (acted < horizon) {
    const RiskRow row = drawn(population, random);
    if (row.confidence < value) continue;
    acted++;
    if (!row.right) wrong++;
  }
  return static_cast<double>(wrong) / static_cast<double>(horizon) > 0.05;
}

Outcome simulate(const Population& population, std::size_t rows, std::uint64_t seed, std::size_t horizon = 0) {
  constexpr int kSplits = 1000;
  Random random(seed);
  Outcome outcome;
  for (int split = 0; split < kSplits; split++) {
    std::vector<RiskRow> sample;
    for (std::size_t i = 0; i < rows; i++) sample.push_back(drawn(population, random));
    const Threshold found = only(sample, {.horizon = horizon});
    outcome.coverage += found.coverage / kSplits;
    if (!found.value) continue;
    const bool violated = horizon == 0 ? true_risk(population, *found.value) > 0.05
                                       : next_are_wrong(population, *found.value, horizon, random);
    if (violated) outcome.violated += 1.0 / kSplits;
  }
  std::printf("%-20s %4zu rows, next %zu, seed %llu: violated %.3f, coverage %.3f\n", population.name, rows, horizon,
              static_cast<unsigned long long>(seed), outcome.violated, outcome.coverage);
  return outcome;
}

double discrete(double u) {
  constexpr double kValues[] = {0.99, 0.95, 0.9, 0.8, 0.6};
  return kValues[std::min<std::size_t>(static_cast<std::size_t>(u * 5), 4)];
}

std::vector<Population> populations() {
  const auto same = [](double confidence) { return confidence; };
  return {
      {"calibrated", [](double u) { return 1 - 0.7 * u; }, same},
      {"easy", [](double u) { return 1 - 0.5 * u * u * u; }, same},
      {"overconfident", [](double u) { return 1 - 0.3 * u; }, [](double c) { return c * c * c; }},
      {"underconfident", [](double u) { return 0.8 - 0.6 * u; }, [](double c) { return std::min(1.0, c + 0.3); }},
      {"noisy labels", [](double u) { return 1 - 0.5 * u * u * u; }, [](double c) { return std::min(c, 0.98); }},
      {"discrete", discrete, same},
      {"discrete, sure", discrete, [](double c) { return c >= 0.9 ? 0.96 : 0.9; }},
      // Against the assumption: the surest are wrong more often than those below.
      {"worst at the top", [](double u) { return u; }, [](double c) { return c > 0.9 ? 0.9 : 0.95; }},
  };
}

TEST(FindThresholds, KeepsTheStatedRiskInNineOfTenSplits) {
  for (const Population& population : populations()) {
    for (const std::size_t rows : {100, 400, 1500}) {
      EXPECT_LE(simulate(population, rows, 20261130).violated, 0.1) << population.name << " " << rows;
    }
  }
}

TEST(FindThresholds, KeepsTheRiskOfTheNextAnswersInNineOfTenSplits) {
  for (const Population& population : populations()) {
    EXPECT_LE(simulate(population, 400, 20261130, 200).violated, 0.1) << population.name;
  }
  // Where the surest are wrong as often as all others.
  for (const double right : {0.95, 0.97}) {
    const Population flat{"flat", [](double u) { return u; }, [right](double) { return right; }};
    EXPECT_LE(simulate(flat, 400, 20261130, 200).violated, 0.1) << right;
  }
}

TEST(FindThresholds, TheLongRunPromisesNothingOfTheNextFew) {
  // 3.5 % wrong: a threshold of the long run may act on all, and then of the next 40 more than two are often wrong.
  const Population flat{"flat", [](double u) { return u; }, [](double) { return 0.965; }};
  Random random(5);
  int found = 0, broken = 0;
  for (int split = 0; split < 500; split++) {
    std::vector<RiskRow> sample;
    for (int i = 0; i < 1500; i++) sample.push_back(drawn(flat, random));
    const Threshold threshold = only(sample);
    if (!threshold.value) continue;
    found++;
    if (next_are_wrong(flat, *threshold.value, 40, random)) broken++;
  }
  EXPECT_GT(found, 50);
  EXPECT_GT(10 * broken, found);
  EXPECT_LE(simulate(flat, 1500, 5, 40).violated, 0.1);
}

TEST(FindThresholds, IsAtItsLimitWhereEachThresholdIsFalse) {
  // All are of one error rate, just above the risk; so it is 0.1 that is to be seen, within three standard errors.
  const Population limit{"just above the risk", [](double u) { return u; }, [](double) { return 0.9499; }};
  for (const std::size_t rows : {100, 400, 1500}) {
    EXPECT_LE(simulate(limit, rows, 20261130).violated, 0.1 + 3 * std::sqrt(0.09 / 1000)) << rows;
  }
}

TEST(FindThresholds, ActsOnMostOfAnEasyQuestion) {
  // The best threshold that knows the truth acts on 0.737 of them: 0.5 u^3 / 4 = 0.05 on the mean above it.
  const Population easy{"easy", [](double u) { return 1 - 0.5 * u * u * u; }, [](double c) { return c; }};
  EXPECT_GT(simulate(easy, 400, 7).coverage, 0.45);
  EXPECT_GT(simulate(easy, 1500, 7).coverage, 0.6);
  // One in a hundred labels is wrong, at the top as well: with one start a third of the splits would act on nothing.
  const Population noisy{"right, noisy labels", [](double u) { return u; }, [](double) { return 0.99; }};
  EXPECT_GT(simulate(noisy, 400, 7).coverage, 0.9);
}

}  // namespace
}  // namespace assay::teach
