#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace assay::kernels {
namespace {

constexpr Half kMinusInfinity = 0xfc00;
constexpr Half kNanHalf = 0x7e00;

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<float, Free>;

Memory aligned(std::size_t count) {
  return Memory(static_cast<float*>(std::aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64)));
}

// Normal numbers as halves: sign, exponent 10 to 17 (2^-5 to 2^2), any fraction.
Half random_half(std::mt19937& random) {
  return static_cast<Half>((random() & 0x8000U) | ((10 + random() % 8) << 10) | (random() & 0x3ffU));
}

float to_float(Half half) {
  const int exponent = (half >> 10) & 0x1f;
  const float magnitude = std::ldexp(1.0F + static_cast<float>(half & 0x3ff) / 1024.0F, exponent - 15);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

// Rows of queries over a cache whose cells can be put anywhere.
struct Scene {
  std::int32_t rows, depth, cells;
  std::vector<float> queries;
  std::vector<Half> keys, values, masks;

  Scene(std::int32_t r, std::int32_t d, std::int32_t c, std::uint32_t seed) : rows(r), depth(d), cells(c) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    for (std::int32_t i = 0; i < r * d; i++) queries.push_back(normal(random));
    for (std::int32_t i = 0; i < c * d; i++) keys.push_back(random_half(random));
    for (std::int32_t i = 0; i < c * d; i++) values.push_back(random_half(random));
    masks.assign(static_cast<std::size_t>(r) * static_cast<std::size_t>(c), 0);
  }
  // Row i sees the cells up to cells - rows + i.
  void make_causal() {
    for (std::int32_t i = 0; i < rows; i++) {
      for (std::int32_t j = cells - rows + i + 1; j < cells; j++) mask(i, j) = kMinusInfinity;
    }
  }
  Half& mask(std::int32_t row, std::int32_t cell) {
    return masks[static_cast<std::size_t>(row) * static_cast<std::size_t>(cells) + static_cast<std::size_t>(cell)];
  }
  std::ptrdiff_t cell_at(std::int32_t cell) const { return static_cast<std::ptrdiff_t>(cell) * depth; }

  std::vector<float> attend(const AttentionUnit& unit, std::int32_t from, std::int32_t to) const {
    const std::int32_t panels = cells / kPanelCells;
    const Memory packed = aligned(keys.size());
    std::vector<std::int32_t> seen;
    for (std::int32_t p = 0; p < panels; p++) {
      unit.pack_keys(keys.data() + cell_at(p * kPanelCells), static_cast<std::size_t>(depth) * 2, depth,
                     packed.get() + cell_at(p * kPanelCells));
      bool any = false;
      for (std::int32_t i = from; i < to; i++) {
        const Half* const row = masks.data() + static_cast<std::ptrdiff_t>(i) * cells + p * kPanelCells;
        any = any || std::any_of(row, row + kPanelCells, [](Half h) { return h != kMinusInfinity; });
      }
      if (any) seen.push_back(p);
    }
    const auto count = static_cast<std::int32_t>(seen.size());
    const Memory scratch = aligned(attention_scratch(count, depth));
    std::vector<float> out(static_cast<std::size_t>(to - from) * static_cast<std::size_t>(depth), 77.0F);
    AttentionBlock block{.rows = to - from,
                         .depth = depth,
                         .scale = 1.0F / std::sqrt(static_cast<float>(depth)),
                         .keys = packed.get(),
                         .values = values.data(),
                         .value_stride = static_cast<std::size_t>(depth) * 2,
                         .panels = seen.data(),
                         .panel_count = count,
                         .scratch = scratch.get()};
    for (std::int32_t i = from; i < to; i++) {
      block.queries[i - from] = queries.data() + static_cast<std::ptrdiff_t>(i) * depth;
      block.masks[i - from] = masks.data() + static_cast<std::ptrdiff_t>(i) * cells;
      block.out[i - from] = out.data() + static_cast<std::ptrdiff_t>(i - from) * depth;
    }
    unit.attend(block);
    return out;
  }
};

std::vector<std::uint32_t> bits(const std::vector<float>& floats) {
  std::vector<std::uint32_t> out;
  for (const float x : floats) out.push_back(std::isnan(x) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(x));
  return out;
}

std::vector<const AttentionUnit*> units() {
  std::vector<const AttentionUnit*> out = {&scalar_attention()};
  for (const AttentionUnit* unit : {avx2_attention(), avx512_attention(), neon_attention()}) {
    if (unit != nullptr) out.push_back(unit);
  }
  return out;
}

TEST(Attention, IsCloseToSoftmaxInDoubles) {
  constexpr std::size_t kDepth = 64;
  constexpr std::size_t kCells = 112;
  Scene scene(7, kDepth, kCells, 1);
  scene.make_causal();
  const std::vector<float> out = scene.attend(scalar_attention(), 0, 7);
  for (std::size_t i = 0; i < 7; i++) {
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t j = 0; j < kCells; j++) {
      double dot = 0;
      for (std::size_t d = 0; d < kDepth; d++)
        dot += double{scene.queries[i * kDepth + d]} * to_float(scene.keys[j * kDepth + d]);
      const bool seen = scene.mask(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)) == 0;
      weights.push_back(seen ? std::exp(dot / 8) : 0.0);
      sum += weights.back();
    }
    for (std::size_t d = 0; d < kDepth; d++) {
      double wanted = 0;
      for (std::size_t j = 0; j < kCells; j++) wanted += weights[j] / sum * to_float(scene.values[j * kDepth + d]);
      EXPECT_NEAR(out[i * kDepth + d], wanted, 2e-6 * (1 + std::abs(wanted)));
    }
  }
}

TEST(Attention, AllUnitsGiveTheSameBits) {
  if (units().size() == 1) GTEST_SKIP() << "only the scalar attention works here";
  std::uint32_t seed = 2;
  for (const std::int32_t rows : {1, 2, 5, 6, 7, 8, 9, 13, 47, 48}) {
    for (const std::int32_t depth : {16, 64, 80, 128, 256}) {
      for (const std::int32_t cells : {48, 64, 176}) {
        Scene scene(rows, depth, cells, seed++);
        if (rows <= cells) scene.make_causal();
        const std::vector<std::uint32_t> wanted = bits(scene.attend(scalar_attention(), 0, rows));
        for (const AttentionUnit* unit : units()) {
          ASSERT_EQ(bits(scene.attend(*unit, 0, rows)), wanted)
              << unit->name << " " << rows << " rows, depth " << depth << ", " << cells << " cells";
        }
      }
    }
  }
}

TEST(Attention, ARowsBitsDoNotDependOnItsNeighbours) {
  Scene scene(40, 64, 208, 100);
  scene.make_causal();
  for (const AttentionUnit* unit : units()) {
    const std::vector<float> together = scene.attend(*unit, 0, 40);
    for (const std::int32_t row : {0, 3, 17, 39}) {
      const std::vector<float> alone = scene.attend(*unit, row, row + 1);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + row * 64)) << unit->name << " " << row;
    }
  }
}

// The same cells in the same order with holes and foreign cells between.
TEST(Attention, ARowsBitsDoNotDependOnWhereCellsLie) {
  const Scene compact(5, 80, 64, 200);
  Scene spread(5, 80, 320, 201);
  spread.queries = compact.queries;
  std::fill(spread.masks.begin(), spread.masks.end(), kMinusInfinity);
  for (std::int32_t cell = 0; cell < 64; cell++) {
    const std::int32_t to = cell * 5 + cell % 3;  // ascending
    std::copy_n(compact.keys.begin() + cell * 80, 80, spread.keys.begin() + to * 80);
    std::copy_n(compact.values.begin() + cell * 80, 80, spread.values.begin() + to * 80);
    for (std::int32_t i = 0; i < 5; i++) spread.mask(i, to) = 0;
  }
  for (const AttentionUnit* unit : units())
    EXPECT_EQ(bits(spread.attend(*unit, 0, 5)), bits(compact.attend(*unit, 0, 5))) << unit->name;
}

TEST(Attention, ARowThatSeesNothingIsZeros) {
  Scene scene(2, 16, 16, 300);
  for (std::int32_t j = 0; j < 16; j++) scene.mask(1, j) = kMinusInfinity;
  for (const AttentionUnit* unit : units()) {
    const std::vector<float> out = scene.attend(*unit, 0, 2);
    EXPECT_NE(out[0], 0.0F);
    for (std::size_t d = 16; d < 32; d++) EXPECT_EQ(out[d], 0.0F) << unit->name;
  }
}

TEST(Attention, AQueryThatIsNoNumberStaysInItsRow) {
  Scene clean(9, 64, 64, 400);
  Scene broken = clean;
  broken.queries[64 * 4 + 3] = std::numeric_limits<float>::quiet_NaN();
  broken.queries[64 * 6 + 1] = std::numeric_limits<float>::infinity();
  for (const AttentionUnit* unit : units()) {
    const std::vector<float> wanted = clean.attend(*unit, 0, 9);
    const std::vector<float> out = broken.attend(*unit, 0, 9);
    for (std::size_t i = 0; i < out.size(); i++) {
      if (i / 64 == 4 || i / 64 == 6) {
        EXPECT_TRUE(std::isnan(out[i])) << unit->name;
      } else {
        EXPECT_EQ(out[i], wanted[i]) << unit->name;
      }
    }
  }
}

TEST(Attention, ExtremeScoresKeepTheirWeights) {
  Scene scene(1, 16, 32, 500);
  for (float& q : scene.queries) q *= 200.0F;  // scores up to hundreds: most weights vanish
  for (const AttentionUnit* unit : units()) {
    for (const float x : scene.attend(*unit, 0, 1)) EXPECT_TRUE(std::isfinite(x)) << unit->name;
    EXPECT_EQ(bits(scene.attend(*unit, 0, 1)), bits(scene.attend(scalar_attention(), 0, 1)));
  }
}

// Halves of all kinds, in keys and in the mask, are read the same way.
TEST(Attention, HalvesAreReadAlike) {
  Scene scene(3, 16, 32, 600);
  scene.keys[0] = 0;
  scene.keys[1] = 0x8000;  // minus zero
  scene.keys[2] = 0x0001;  // the least denormal
  scene.keys[3] = 0x83ff;  // the largest negative denormal
  scene.values[0] = 0x0155;
  scene.values[1] = 0xfbff;   // the largest magnitude
  scene.mask(1, 4) = 0x3c00;  // plus one
  const std::vector<std::uint32_t> wanted = bits(scene.attend(scalar_attention(), 0, 3));
  for (const AttentionUnit* unit : units()) EXPECT_EQ(bits(scene.attend(*unit, 0, 3)), wanted) << unit->name;
  scene.keys[0] = kNanHalf;
  for (const AttentionUnit* unit : units()) EXPECT_TRUE(std::isnan(scene.attend(*unit, 0, 3)[0])) << unit->name;
}

}  // namespace
}  // namespace assay::kernels
