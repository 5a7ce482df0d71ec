#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/product.h"
#include "kernels/testing/product_case.h"

// Products of 16-bit integers, which files in F16, BF16 and F32 get.

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
using testing::word_case;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The sum in doubles, and what rows rounded to half precision would give, as ggml computes with F16 weights.
struct Wanted {
  double exact = 0;
  double with_halves = 0;
  double size = 0;  // what the sum would be like for weights of 0.05
};

float as_half(float x) {
  if (x == 0) return 0;
  const float step = std::ldexp(1.0F, std::ilogb(x) - 10);
  return std::nearbyint(x / step) * step;
}

Wanted wanted(const float* row, const float* weights, std::int32_t depth) {
  Wanted out;
  for (std::int32_t k = 0; k < depth; k++) {
    out.exact += double{row[k]} * weights[k];
    out.with_halves += double{as_half(row[k])} * weights[k];
    out.size += double{row[k]} * row[k] * 0.05 * 0.05;
  }
  out.size = std::sqrt(out.size);
  return out;
}

TEST(WordProduct, IsAsCloseAsHalfPrecisionAlsoBesideOutliers) {
  const Case c = word_case(24, 40, 1024);
  const Floats weights = random_floats(size_of(c.columns, c.depth), 1, 0.05F);
  for (const float outlier : {1.0F, 30.0F, 1000.0F}) {
    Floats rows = random_floats(size_of(c.rows, c.depth), 2, 1.0F);
    for (std::size_t i = 7; i < rows.size(); i += 100) rows[i] *= outlier;
    const std::vector<std::uint32_t> bits = Product(c, weights, rows).bits(scalar_unit(), 0, c.rows);
    double ours = 0;
    double halves = 0;
    for (std::int32_t m = 0; m < c.rows; m++) {
      for (std::int32_t n = 0; n < c.columns; n++) {
        const Wanted sum = wanted(rows.data() + size_of(m, c.depth), weights.data() + size_of(n, c.depth), c.depth);
        const auto got = std::bit_cast<float>(bits[size_of(m, c.columns) + static_cast<std::size_t>(n)]);
        ASSERT_NEAR(got, sum.exact, sum.size * 1e-3) << m << " " << n;
        ours += (got - sum.exact) * (got - sum.exact);
        halves += (sum.with_halves - sum.exact) * (sum.with_halves - sum.exact);
      }
    }
    // Weights are rounded too here, those of a file in F16 are not: twice the error's square is the bound.
    EXPECT_LT(ours, 2 * halves) << "outlier " << outlier << ": " << std::sqrt(ours) << " and " << std::sqrt(halves);
  }
}

TEST(WordProduct, AllUnitsGiveTheSameBitsForAnyNumberOfRows) {
  for (std::int32_t rows = 1; rows <= 70; rows++) {
    const Case c = word_case(rows, 37, 160);
    expect_all_units_agree(c, random_floats(size_of(c.columns, c.depth), 3, 0.1F),
                           random_floats(size_of(c.rows, c.depth), static_cast<std::uint32_t>(rows), 2.0F));
  }
}

TEST(WordProduct, AllUnitsGiveTheSameBitsAtTheEdgesOfColumnsAndDepth) {
  std::uint32_t seed = 10;
  for (const std::int32_t columns : {1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 65, 97}) {
    for (const std::int32_t depth : {32, 64, 96, 128, 160, 288, 576, 4320}) {
      if (depth > 1000 && columns != 33) continue;  // one deep case is enough
      seed += 2;
      const Case c = word_case(19, columns, depth);
      expect_all_units_agree(c, random_floats(size_of(columns, depth), seed, 1.0F),
                             random_floats(size_of(c.rows, depth), seed + 1, 1.0F));
    }
  }
}

TEST(WordProduct, MoreRowsThanAChunkAreTheSameToo) {
  const Case c = word_case(203, 50, 192);
  expect_all_units_agree(c, random_floats(size_of(c.columns, c.depth), 5, 1.0F),
                         random_floats(size_of(c.rows, c.depth), 6, 1.0F));
}

// The largest dot products that there can be, and their negatives, on every lane: one more level would be too much.
TEST(WordProduct, NothingOverflows) {
  const Case c = word_case(9, 33, 256);
  Floats weights(size_of(c.columns, c.depth));
  Floats rows(size_of(c.rows, c.depth));
  for (std::size_t i = 0; i < weights.size(); i++) weights[i] = (i / 256) % 2 == 0 ? 1.0F : -1.0F;
  for (std::size_t i = 0; i < rows.size(); i++) rows[i] = (i / 256) % 3 == 0 ? -1.0F : 1.0F;
  expect_all_units_agree(c, weights, rows);
  const std::vector<std::uint32_t> bits = Product(c, weights, rows).bits(scalar_unit(), 0, c.rows);
  EXPECT_NEAR(std::bit_cast<float>(bits[0]), -256.0F, 0.001F);
  EXPECT_NEAR(std::bit_cast<float>(bits[1]), 256.0F, 0.001F);
}

TEST(WordProduct, ZerosDenormalsAndOutliersGiveTheSameBits) {
  const Case c = word_case(12, 20, 256);
  Floats weights = random_floats(size_of(c.columns, c.depth), 7, 1.0F);
  Floats rows = random_floats(size_of(c.rows, c.depth), 8, 1.0F);
  for (std::int32_t k = 0; k < 256; k++) {
    const auto at = static_cast<std::size_t>(k);
    rows[at] = 0;
    rows[256 + at] = 1e-41F;                    // denormal
    rows[512 + at] = k == 100 ? 1e30F : 1e-3F;  // an outlier makes the rest of its group zeros
    rows[768 + at] = -0.0F;
    rows[1024 + at] = std::ldexp(1.0F, -100) * (k == 3 ? 1.0F : 0.5F);  // the least group that is not zeros
    rows[1280 + at] = 3.0e38F;                                          // sums overflow
    weights[at] = 1e-42F;
    weights[256 + at] = k == 200 ? -1e20F : 0.5F;
    weights[512 + at] = 3.0e38F;
  }
  expect_all_units_agree(c, weights, rows);
}

TEST(WordProduct, NumbersThatAreNoneStayInTheirRowAndColumn) {
  const Case c = word_case(6, 18, 128);
  Floats weights = random_floats(size_of(c.columns, c.depth), 9, 1.0F);
  weights[size_of(5, c.depth) + 40] = kNan;
  Floats rows = random_floats(size_of(c.rows, c.depth), 10, 1.0F);
  const std::vector<std::uint32_t> clean = Product(c, weights, rows).bits(scalar_unit(), 0, c.rows);
  rows[size_of(1, c.depth) + 7] = kNan;
  rows[size_of(3, c.depth) + 70] = kInfinity;
  rows[size_of(4, c.depth)] = -kInfinity;
  expect_all_units_agree(c, weights, rows);
  const std::vector<std::uint32_t> bits = Product(c, weights, rows).bits(scalar_unit(), 0, c.rows);
  for (std::size_t i = 0; i < bits.size(); i++) {
    const std::size_t row = i / 18;
    if (row == 1 || row == 3 || row == 4 || i % 18 == 5) {
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits[i]))) << i;
    } else {
      EXPECT_EQ(bits[i], clean[i]) << i;
    }
  }
}

TEST(WordProduct, ARowsBitsDependOnNothingButItself) {
  const Case c = word_case(41, 83, 576);
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

TEST(WordProduct, AllUnitsQuantiseAlike) {
  const PackedShape shape{.columns = 16, .depth = 1024, .group = kWordGroup, .width = Width::kWord};
  Floats x = random_floats(1024, 15, 1.0F);
  for (std::size_t i = 0; i < 128; i++) x[i] = i % 32 == 0 ? 16383.0F : static_cast<float>(i % 9) + 0.5F;  // ties
  x[200] = kNan;
  x[300] = -kInfinity;
  for (std::size_t i = 320; i < 352; i++) x[i] = 1e-40F;
  for (std::size_t i = 352; i < 384; i++) x[i] = i % 2 == 0 ? 3.4e38F : -3.4e38F;
  const auto run = [&](const Unit& unit) {
    const Memory memory = aligned(QuantisedRows::bytes(1, shape));
    const QuantisedRows rows = QuantisedRows::in(1, shape, memory.get());
    quantise_row(unit, x.data(), 0, rows);
    std::vector<float> scales(rows.scales, rows.scales + 32);
    for (float& scale : scales) scale = std::isnan(scale) ? -1 : scale;
    return std::pair(std::vector<std::int16_t>(rows.words(), rows.words() + 1024), scales);
  };
  const auto reference = run(scalar_unit());
  EXPECT_EQ(reference.first[0], 16383);
  EXPECT_EQ(reference.first[3], 4);  // 3.5 goes to its even neighbour
  EXPECT_EQ(reference.second[6], -1);
  EXPECT_EQ(reference.first[200], 0);
  EXPECT_EQ(reference.second[10], 0);
  for (const Unit* unit : all_units()) EXPECT_EQ(run(*unit), reference) << unit->name;
}

TEST(WordPack, EachWeightLiesInItsPlace) {
  const Case c = word_case(1, 18, 64);
  Floats weights(size_of(c.columns, c.depth), 0.0F);
  for (std::size_t n = 0; n < 18; n++) {
    weights[n * 64] = 4095.0F;  // the first group's scale is 1
    weights[n * 64 + 5] = static_cast<float>(n) - 9;
  }
  const Product product(c, weights, Floats(64, 0.0F));
  const PackedWeights& packed = product.packed();
  for (std::size_t n = 0; n < 18; n++) {
    const std::size_t panel = (n / 16) * 64 * 16;
    EXPECT_EQ(packed.words()[panel + 2 * 32 + (n % 16) * 2 + 1], static_cast<int>(n) - 9);
    EXPECT_EQ(packed.words()[panel + (n % 16) * 2], 4095);
    EXPECT_EQ(packed.scales[(n / 16) * 32 + n % 16], 1.0F);
    EXPECT_EQ(packed.scales[(n / 16) * 32 + 16 + n % 16], 0.0F);
  }
  for (std::size_t column = 2; column < 16; column++) EXPECT_EQ(packed.words()[64 * 16 + column * 2], 0);
}

}  // namespace
}  // namespace assay::kernels
