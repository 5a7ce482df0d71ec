#include "kernels/product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/product_case.h"

namespace assay::kernels {
namespace {

using testing::aligned;
using testing::all_units;
using testing::Case;
using testing::expect_all_units_agree;
using testing::Floats;
using testing::Memory;
using testing::Product;
using testing::random_floats;
using testing::size_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Product, IsCloseToTheSumInDoubles) {
  const Case c{.rows = 5, .columns = 21, .depth = 768, .group = 256};
  const Floats weights = random_floats(size_of(c.columns, c.depth), 1, 0.05F);
  const Floats rows = random_floats(size_of(c.rows, c.depth), 2, 1.0F);
  const std::vector<std::uint32_t> bits = Product(c, weights, rows).bits(scalar_unit(), 0, c.rows);
  for (std::int32_t m = 0; m < c.rows; m++) {
    for (std::int32_t n = 0; n < c.columns; n++) {
      double sum = 0;
      for (std::int32_t k = 0; k < c.depth; k++)
        sum += double{rows[size_of(m, c.depth) + static_cast<std::size_t>(k)]} *
               double{weights[size_of(n, c.depth) + static_cast<std::size_t>(k)]};
      // 768 products of sigma 0.05, each with about 1 % of noise on either side: sigma 0.02.
      EXPECT_NEAR(std::bit_cast<float>(bits[size_of(m, c.columns) + static_cast<std::size_t>(n)]), sum, 0.1);
    }
  }
}

TEST(Product, AllUnitsGiveTheSameBitsForAnyNumberOfRows) {
  for (std::int32_t rows = 1; rows <= 70; rows++) {
    const Case c{.rows = rows, .columns = 37, .depth = 192, .group = 96};
    expect_all_units_agree(c, random_floats(size_of(c.columns, c.depth), 3, 0.1F),
                           random_floats(size_of(c.rows, c.depth), static_cast<std::uint32_t>(rows), 2.0F));
  }
}

TEST(Product, AllUnitsGiveTheSameBitsAtTheEdgesOfColumnsAndDepth) {
  const std::vector<std::int32_t> columns = {1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 65, 97};
  const std::vector<std::pair<std::int32_t, std::int32_t>> depths = {{32, 32},   {64, 64},   {64, 32},   {96, 96},
                                                                     {160, 160}, {256, 256}, {512, 256}, {576, 192},
                                                                     {576, 32},  {576, 64},  {672, 96},  {4352, 256}};
  std::uint32_t seed = 10;
  for (const std::int32_t n : columns) {
    for (const auto& [depth, group] : depths) {
      if (depth > 1000 && n != 33) continue;  // one deep case is enough
      seed += 2;
      const Case c{.rows = 19, .columns = n, .depth = depth, .group = group};
      expect_all_units_agree(c, random_floats(size_of(n, depth), seed, 1.0F),
                             random_floats(size_of(c.rows, depth), seed + 1, 1.0F));
    }
  }
}

TEST(Product, WeightsWithOffsetsGiveTheSameBits) {
  std::uint32_t seed = 900;
  for (const std::int32_t group : {32, 96, 192}) {
    for (const std::int32_t rows : {1, 3, 4, 11, 33}) {
      seed += 2;
      const Case c{.rows = rows, .columns = 53, .depth = 576, .group = group, .levels = 240, .mins = true};
      Floats weights = random_floats(size_of(c.columns, c.depth), seed, 1.0F);
      for (float& w : weights) w += 0.7F;
      expect_all_units_agree(c, weights, random_floats(size_of(c.rows, c.depth), seed + 1, 1.0F));
    }
  }
}

// Sixteen levels between two ends, as Q4_1 has them, and -8 to 7 times a step, as Q4_0: nothing is lost.
TEST(Pack, LevelsOfTheFilesTypesComeOutExactly) {
  for (const bool mins : {false, true}) {
    const Case c{.rows = 1, .columns = 16, .depth = 32, .group = 32, .levels = mins ? 240 : 120, .mins = mins};
    Floats weights(size_of(c.columns, c.depth));
    for (std::size_t i = 0; i < weights.size(); i++) {
      const float level = i % 32 == 0 ? 0.0F : i % 32 == 1 ? 15.0F : static_cast<float>(i * 7 % 16);
      weights[i] = mins ? 0.375F + 0.25F * level : 0.25F * (level - 8);
    }
    const Product product(c, weights, Floats(32, 0.0F));
    const PackedWeights& packed = product.packed();
    for (std::size_t n = 0; n < 16; n++) {
      for (std::size_t k = 0; k < 32; k++) {
        const int q = int{packed.values[k / 4 * 64 + n * 4 + k % 4]} - 128;
        const float min = mins ? packed.mins[n] * -128.0F : 0.0F;
        EXPECT_NEAR(static_cast<float>(q) * packed.scales[n] + min, weights[n * 32 + k], 1e-6F) << n << " " << k;
      }
    }
  }
}

TEST(Product, MoreRowsThanAChunkAreTheSameToo) {
  const Case c{.rows = 203, .columns = 50, .depth = 128, .group = 128};
  expect_all_units_agree(c, random_floats(size_of(c.columns, c.depth), 5, 1.0F),
                         random_floats(size_of(c.rows, c.depth), 6, 1.0F));
}

// The largest sums that int8 can make: 256 * 127 * 127 and its negative, on every lane.
TEST(Product, NothingSaturates) {
  const Case c{.rows = 9, .columns = 33, .depth = 512, .group = 256};
  Floats weights(size_of(c.columns, c.depth));
  Floats rows(size_of(c.rows, c.depth));
  for (std::size_t i = 0; i < weights.size(); i++) weights[i] = (i / 512) % 2 == 0 ? 1.0F : -1.0F;
  for (std::size_t i = 0; i < rows.size(); i++) rows[i] = (i / 512) % 3 == 0 ? -1.0F : 1.0F;
  expect_all_units_agree(c, weights, rows);
  const std::vector<std::uint32_t> bits = Product(c, weights, rows).bits(scalar_unit(), 0, c.rows);
  EXPECT_NEAR(std::bit_cast<float>(bits[0]), -512.0F, 0.001F);
  EXPECT_NEAR(std::bit_cast<float>(bits[1]), 512.0F, 0.001F);
}

TEST(Product, ZerosDenormalsAndOutliersGiveTheSameBits) {
  const Case c{.rows = 12, .columns = 20, .depth = 256, .group = 128};
  Floats weights = random_floats(size_of(c.columns, c.depth), 7, 1.0F);
  Floats rows = random_floats(size_of(c.rows, c.depth), 8, 1.0F);
  for (std::int32_t k = 0; k < 256; k++) {
    const auto at = static_cast<std::size_t>(k);
    rows[at] = 0;
    rows[256 + at] = 1e-41F;                    // denormal
    rows[512 + at] = k == 100 ? 1e30F : 1e-3F;  // an outlier makes the rest zeros
    rows[768 + at] = -0.0F;
    rows[1024 + at] = std::ldexp(1.0F, -100) * (k == 3 ? 1.0F : 0.5F);  // the least group that is not zeros
    rows[1280 + at] = 3.0e38F;                                          // sums overflow
    weights[at] = 1e-42F;
    weights[256 + at] = k == 200 ? -1e20F : 0.5F;
    weights[512 + at] = 3.0e38F;
  }
  expect_all_units_agree(c, weights, rows);
}

TEST(Product, NumbersThatAreNoneStayInTheirRow) {
  const Case c{.rows = 6, .columns = 18, .depth = 128, .group = 64};
  const Floats weights = random_floats(size_of(c.columns, c.depth), 9, 1.0F);
  const Floats clean = random_floats(size_of(c.rows, c.depth), 10, 1.0F);
  Floats rows = clean;
  rows[size_of(1, c.depth) + 7] = kNan;
  rows[size_of(3, c.depth) + 70] = kInfinity;
  rows[size_of(4, c.depth)] = -kInfinity;
  expect_all_units_agree(c, weights, rows);
  const std::vector<std::uint32_t> wanted = Product(c, weights, clean).bits(scalar_unit(), 0, c.rows);
  const std::vector<std::uint32_t> bits = Product(c, weights, rows).bits(scalar_unit(), 0, c.rows);
  for (std::size_t i = 0; i < bits.size(); i++) {
    const std::size_t row = i / 18;
    if (row == 1 || row == 3 || row == 4) {
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits[i])));
    } else {
      EXPECT_EQ(bits[i], wanted[i]);
    }
  }
}

TEST(Product, WeightsThatAreNoNumbersStayInTheirColumn) {
  const Case c{.rows = 3, .columns = 5, .depth = 64, .group = 32};
  Floats weights = random_floats(size_of(c.columns, c.depth), 11, 1.0F);
  weights[size_of(2, c.depth) + 40] = kNan;
  const Floats rows = random_floats(size_of(c.rows, c.depth), 12, 1.0F);
  expect_all_units_agree(c, weights, rows);
  const std::vector<std::uint32_t> bits = Product(c, weights, rows).bits(scalar_unit(), 0, c.rows);
  for (std::size_t i = 0; i < bits.size(); i++) EXPECT_EQ(std::isnan(std::bit_cast<float>(bits[i])), i % 5 == 2) << i;
}

// The promise that the engine stands on: alone, in company, in any order of the work.
TEST(Product, ARowsBitsDependOnNothingButItself) {
  const Case c{.rows = 41, .columns = 83, .depth = 576, .group = 192};
  const Product product(c, random_floats(size_of(c.columns, c.depth), 13, 1.0F),
                        random_floats(size_of(c.rows, c.depth), 14, 1.0F));
  for (const Unit* unit : all_units()) {
    const std::vector<std::uint32_t> together = product.bits(*unit, 0, c.rows);
    EXPECT_EQ(product.bits(*unit, 0, c.rows, true), together) << unit->name;
    for (const auto& [from, to] : std::vector<std::pair<int, int>>{{0, 1}, {17, 18}, {5, 12}, {40, 41}, {3, 36}}) {
      const std::vector<std::uint32_t> alone = product.bits(*unit, from, to);
      const auto begin = together.begin() + static_cast<std::ptrdiff_t>(from) * c.columns;
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), begin)) << unit->name << " rows " << from << " to " << to;
    }
  }
}

TEST(Quantise, AllUnitsAgreeOnHalvesAndRandomNumbers) {
  Floats x = random_floats(1024, 15, 1.0F);
  for (std::size_t i = 0; i < 128; i++) x[i] = static_cast<float>(i) - 63.5F;  // ties after scaling by 127 / 63.5
  for (std::size_t i = 128; i < 256; i++) x[i] = i == 128 ? 127.0F : static_cast<float>(i % 9) + 0.5F;  // exact ties
  const auto run = [&](const Unit& unit) {
    const PackedShape shape{.columns = 16, .depth = 1024, .group = 128};
    const Memory memory = aligned(QuantisedRows::bytes(1, shape));
    const QuantisedRows rows = QuantisedRows::in(1, shape, memory.get());
    quantise_row(unit, x.data(), 0, rows);
    std::string out(reinterpret_cast<const char*>(rows.values), 1024);
    out.append(reinterpret_cast<const char*>(rows.scales), 32);
    out.append(reinterpret_cast<const char*>(rows.offsets), 32);
    return out;
  };
  for (const Unit* unit : all_units()) EXPECT_EQ(run(*unit), run(scalar_unit())) << unit->name;
  const std::string reference = run(scalar_unit());
  EXPECT_EQ(reference[129], 4);  // 129 % 9 + 0.5 = 3.5 goes to its even neighbour
}

TEST(Group, IsTheLargestDivisorThatFits) {
  EXPECT_EQ(group_for(2560, 256), 256);
  EXPECT_EQ(group_for(576, 256), 192);
  EXPECT_EQ(group_for(1536, 256), 256);
  EXPECT_EQ(group_for(640, 256), 160);
  EXPECT_EQ(group_for(32, 256), 32);
  EXPECT_EQ(group_for(2560, 64), 64);
}

TEST(Pack, EachWeightLiesInItsPlace) {
  const Case c{.rows = 1, .columns = 18, .depth = 64, .group = 32};
  Floats weights(size_of(c.columns, c.depth), 0.0F);
  for (std::size_t n = 0; n < 18; n++) {
    weights[n * 64] = 127.0F;  // the first group's scale is 1
    weights[n * 64 + 5] = static_cast<float>(n) - 9;
  }
  const Product product(c, weights, Floats(64, 0.0F));
  const PackedWeights& packed = product.packed();
  for (std::size_t n = 0; n < 18; n++) {
    const std::size_t panel = (n / 16) * 64 * 16;
    EXPECT_EQ(packed.values[panel + 64 + (n % 16) * 4 + 1], 128 + static_cast<int>(n) - 9);
    EXPECT_EQ(packed.values[panel + (n % 16) * 4], 255);
    EXPECT_EQ(packed.scales[(n / 16) * 32 + n % 16], 1.0F);
    EXPECT_EQ(packed.scales[(n / 16) * 32 + 16 + n % 16], 0.0F);
  }
  for (std::size_t column = 2; column < 16; column++) EXPECT_EQ(packed.values[64 * 16 + column * 4], 128);
}

// Which units these tests could try, said aloud; hardware tiles only where there are some.
TEST(Units, ThoseOfThisMachineAreTried) {
  for (const Unit* unit : usable_units()) std::printf("unit here: %s\n", unit->name);
  EXPECT_STREQ(usable_units().back()->name, "scalar");
  if (amx_int8_unit() == nullptr) GTEST_SKIP() << "no AMX here: its kernel ran on emulated tiles only";
}

}  // namespace
}  // namespace assay::kernels
