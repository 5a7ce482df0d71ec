#include "kernels/pack_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/unit.h"

namespace assay::kernels {
namespace {

struct Packed {
  std::vector<std::uint8_t> values;
  std::vector<float> scales;
  std::vector<float> mins;

  bool operator==(const Packed& other) const {
    const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
      return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
    };
    return values == other.values && same(scales, other.scales) && same(mins, other.mins);
  }
};

std::size_t size_of(std::int32_t number) { return static_cast<std::size_t>(number); }

struct Case {
  std::int32_t rows = 16;
  std::int32_t group = 32;
  std::int32_t groups = 3;
  std::int32_t levels = 127;
  bool mins = false;
  Width width = Width::kByte;

  std::int32_t value_bytes() const { return width == Width::kWord ? 2 : 1; }
};

// What lies between the rows must not be read as theirs.
constexpr std::size_t kGap = 5;

Packed pack(PackGroups packer, const Case& c, const std::vector<float>& weights) {
  const auto count = size_of(c.group) * size_of(c.groups);
  const auto scales = size_of(c.groups) * size_of(kPanelColumns);
  Packed out{.values = std::vector<std::uint8_t>(count * kPanelColumns * size_of(c.value_bytes()), 7),
             .scales = std::vector<float>(scales, 7.0F),
             .mins = std::vector<float>(c.mins ? scales : 0, 7.0F)};
  packer({.weights = weights.data(),
          .weights_stride = count + kGap,
          .rows = c.rows,
          .group = c.group,
          .groups = c.groups,
          .levels = c.levels,
          .width = c.width,
          .values = out.values.data(),
          .scales = out.scales.data(),
          .mins = c.mins ? out.mins.data() : nullptr});
  return out;
}

std::vector<float> random_weights(const Case& c, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.1F, 1);
  std::vector<float> out(static_cast<std::size_t>(c.rows) * (size_of(c.group) * size_of(c.groups) + kGap));
  for (float& x : out) x = normal(random);
  return out;
}

std::vector<PackGroups> faster_ones() {
  std::vector<PackGroups> out;
  for (const PackGroups packer : {avx2_pack_groups(), avx512_pack_groups()}) {
    if (packer != nullptr) out.push_back(packer);
  }
  return out;
}

const std::vector<Case> kCases = {{},
                                  {.rows = 1},
                                  {.rows = 5, .group = 64},
                                  {.rows = 16, .group = 256, .groups = 2},
                                  {.rows = 15, .group = 96, .groups = 1, .levels = 120},
                                  {.rows = 16, .group = 32, .groups = 16, .levels = 240, .mins = true},
                                  {.rows = 3, .group = 192, .levels = 248, .mins = true},
                                  {.rows = 16, .groups = 5, .levels = kWeightLevels, .width = Width::kWord},
                                  {.rows = 7, .levels = kWeightLevels, .width = Width::kWord}};

TEST(PackGroups, AllInstructionSetsGiveTheSameBytes) {
  if (faster_ones().empty()) GTEST_SKIP() << "this CPU has neither AVX2 nor AVX-512";
  std::uint32_t seed = 1;
  for (const Case& c : kCases) {
    const std::vector<float> weights = random_weights(c, seed++);
    const Packed plain = pack(pack_groups_plain, c, weights);
    for (const PackGroups packer : faster_ones()) EXPECT_EQ(pack(packer, c, weights), plain) << seed;
  }
}

TEST(PackGroups, OddNumbersGiveTheSameBytes) {
  if (faster_ones().empty()) GTEST_SKIP() << "this CPU has neither AVX2 nor AVX-512";
  const float odd[] = {std::numeric_limits<float>::quiet_NaN(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::max(),
                       -std::numeric_limits<float>::max(),
                       std::numeric_limits<float>::denorm_min(),
                       -0.0F,
                       1e-31F,
                       1e30F};
  for (const Case& c : {Case{.rows = 16, .group = 64, .groups = 2},
                        Case{.rows = 16, .group = 64, .groups = 2, .levels = 240, .mins = true},
                        Case{.rows = 16, .groups = 4, .levels = kWeightLevels, .width = Width::kWord}}) {
    for (const float number : odd) {
      for (const bool alone : {false, true}) {
        std::vector<float> weights = random_weights(c, 9);
        if (alone) std::ranges::fill(weights, number);
        for (std::size_t i = 3; i < weights.size(); i += 71) weights[i] = number;
        const Packed plain = pack(pack_groups_plain, c, weights);
        for (const PackGroups packer : faster_ones()) EXPECT_EQ(pack(packer, c, weights), plain) << number;
      }
    }
  }
}

// The integer that stands for weight k of a column.
std::int32_t level(const Packed& packed, const Case& c, std::int32_t k, std::int32_t column) {
  if (c.width == Width::kByte) {
    const auto place = size_of(k / 4) * 4 * size_of(kPanelColumns) + size_of(column) * 4 + size_of(k % 4);
    return std::int32_t{packed.values[place]} - 128;
  }
  const auto place = size_of(k / 2) * 2 * size_of(kPanelColumns) + size_of(column) * 2 + size_of(k % 2);
  std::int16_t word = 0;
  std::memcpy(&word, &packed.values[place * 2], sizeof word);
  return word;
}

TEST(PackGroups, WhatIsUnpackedIsCloseToWhatWasPacked) {
  for (const Case& c : kCases) {
    const std::vector<float> weights = random_weights(c, 11);
    const Packed packed = pack(chosen_pack_groups(), c, weights);
    const std::int32_t depth = c.group * c.groups;
    for (std::int32_t column = 0; column < kPanelColumns; column++) {
      for (std::int32_t k = 0; k < depth; k++) {
        const auto scale_place = size_of(k / c.group) * size_of(kPanelColumns) + size_of(column);
        const float scale = packed.scales[scale_place];
        const float min = c.mins ? packed.mins[scale_place] * -128.0F : 0.0F;
        const float value = scale * static_cast<float>(level(packed, c, k, column)) + min;
        const float wanted = column < c.rows
                                 ? weights[static_cast<std::size_t>(column) * (static_cast<std::size_t>(depth) + kGap) +
                                           static_cast<std::size_t>(k)]
                                 : 0.0F;
        ASSERT_NEAR(value, wanted, scale * 0.501F) << column << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace assay::kernels
