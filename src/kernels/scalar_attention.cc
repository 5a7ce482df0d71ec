#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention.h"
#include "kernels/attention_rules.h"

// The reference: what all other attention units are compared with.

namespace assay::kernels {
namespace {

float to_float(Half half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fU;
  const std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = static_cast<float>(fraction) * 5.9604644775390625e-8F;  // 2^-24
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(small) | sign);
}

float exponential(float x) {
  if (!(x >= kExpLeast)) return 0;
  const float n = std::nearbyint(x * kLog2E);
  float f = std::fma(n, -kLn2High, x);
  f = std::fma(n, -kLn2Low, f);
  float y = kExp[0];
  for (int i = 1; i < 7; i++) y = std::fma(y, f, kExp[i]);
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(y) + (static_cast<std::int32_t>(n) << 23));
}

void pack_keys(const Half* keys, std::size_t stride_bytes, std::int32_t depth, float* panel) {
  for (std::int32_t cell = 0; cell < kPanelCells; cell++) {
    const Half* const key = keys + static_cast<std::size_t>(cell) * (stride_bytes / sizeof(Half));
    for (std::int32_t d = 0; d < depth; d++) panel[d * kPanelCells + cell] = to_float(key[d]);
  }
}

float score(const AttentionBlock& block, std::int32_t row, std::int32_t cell) {
  const float* const keys = block.keys + static_cast<std::ptrdiff_t>(cell / kPanelCells) * block.depth * kPanelCells;
  float sum = 0;
  for (std::int32_t d = 0; d < block.depth; d++)
    sum = std::fma(block.queries[row][d], keys[d * kPanelCells + cell % kPanelCells], sum);
  return std::fma(sum, block.scale, to_float(block.masks[row][cell]));
}

void attend_row(const AttentionBlock& block, std::int32_t row) {
  std::vector<float> scores;
  bool broken = false;
  float most = -std::numeric_limits<float>::infinity();
  for (std::int32_t i = 0; i < block.panel_count * kPanelCells; i++) {
    scores.push_back(score(block, row, block.panels[i / kPanelCells] * kPanelCells + i % kPanelCells));
    most = scores.back() > most ? scores.back() : most;
    broken = broken || !(scores.back() < std::numeric_limits<float>::infinity());
  }
  float* const out = block.out[row];
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::int32_t d = 0; d < block.depth; d++) out[d] = 0;
  for (std::int32_t i = 0; i < block.panel_count * kPanelCells; i++) {
    const std::int32_t cell = block.panels[i / kPanelCells] * kPanelCells + i % kPanelCells;
    const float p = exponential(scores[static_cast<std::size_t>(i)] - most);
    const auto units = static_cast<std::int32_t>(std::nearbyint(p * kSumScale));
    low += units & kSumLowMask;
    high += units >> kSumLowBits;
    const Half* const value = block.values + static_cast<std::size_t>(cell) * (block.value_stride / sizeof(Half));
    for (std::int32_t d = 0; d < block.depth; d++) out[d] = std::fma(p, to_float(value[d]), out[d]);
  }
  const float inverse = inverse_of(low, high);
  for (std::int32_t d = 0; d < block.depth; d++)
    out[d] = broken ? std::numeric_limits<float>::quiet_NaN() : out[d] * inverse;
}

void attend(const AttentionBlock& block) {
  for (std::int32_t row = 0; row < block.rows; row++) attend_row(block, row);
}

constexpr AttentionUnit kScalar{.name = "scalar", .pack_keys = pack_keys, .attend = attend};

}  // namespace

const AttentionUnit& scalar_attention() { return kScalar; }

const AttentionUnit* chosen_attention() {
  for (const AttentionUnit* unit : {avx512_attention(), avx2_attention(), neon_attention()}) {
    if (unit != nullptr) return unit;
  }
  return nullptr;
}

std::size_t attention_scratch(std::int32_t panel_count, std::int32_t depth) {
  return static_cast<std::size_t>(kAttentionRows) *
         (static_cast<std::size_t>(panel_count) * kPanelCells + static_cast<std::size_t>(depth));
}

}  // namespace assay::kernels
