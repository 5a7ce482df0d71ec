#pragma once
// What the kernels for ARM share: the quantiser, and how dot products become sums. Each file includes this header in a
// build of its own, so all of it has internal linkage.

#include <arm_neon.h>

#include "kernels/quantise_rules.h"
#include "kernels/unit.h"

namespace assay::kernels {
namespace {

inline int8x16_t signed_weights(const std::uint8_t* at) {
  return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(at), vdupq_n_u8(0x80)));
}

// Adds one row's dot products with the 16 columns of a panel, in units of both scales, to its sums. `dots`: four
// columns each.
inline void add_dots(const Block& block, std::size_t row, std::size_t panel, const int32x4_t (&dots)[4]) {
  const float* const w_scales = block.w_scales + panel * block.w_scale_stride;
  const std::size_t at = row * block.a_group_stride;
  const float32x4_t a_scale = vdupq_n_f32(block.a_scales[at]);
  float* const sums = block.sums + row * block.sums_stride + panel * kPanelColumns;
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    const float32x4_t scale = vmulq_f32(a_scale, vld1q_f32(w_scales + q * 4));
    const float32x4_t before = block.first ? vdupq_n_f32(0) : vld1q_f32(sums + q * 4);
    float32x4_t sum = vfmaq_f32(before, vcvtq_f32_s32(dots[q]), scale);
    if (block.w_mins != nullptr) {
      const float32x4_t a_sum = vmulq_f32(a_scale, vdupq_n_f32(static_cast<float>(block.a_offsets[at])));
      sum = vfmaq_f32(sum, a_sum, vld1q_f32(block.w_mins + panel * block.w_scale_stride + q * 4));
    }
    vst1q_f32(sums + q * 4, sum);
  }
}

// `Tile::add<kRows>(block, row, panel)` does one group of some rows by one panel.
template <typename Tile>
void multiply_group(const Block& block) {
  for (std::int32_t p = 0; p < block.panels; p++) {
    const auto panel = static_cast<std::size_t>(p);
    std::int32_t row = 0;
    for (; row + 4 <= block.rows; row += 4) Tile::template add<4>(block, static_cast<std::size_t>(row), panel);
    const auto left = static_cast<std::size_t>(row);
    switch (block.rows - row) {
      case 1:
        Tile::template add<1>(block, left, panel);
        break;
      case 2:
        Tile::template add<2>(block, left, panel);
        break;
      case 3:
        Tile::template add<3>(block, left, panel);
        break;
      default:
        break;
    }
  }
}

template <typename Tile>
void multiply(const Block& block) {
  for (std::int32_t g = 0; g < block.groups; g++) multiply_group<Tile>(group_of(block, g));
}

inline void quantise(const float* x, std::int32_t depth, std::int32_t group, std::int8_t* values, float* scales,
                     std::int32_t* offsets) {
  for (std::int32_t from = 0; from < depth; from += group, scales++, offsets++) {
    uint32x4_t most = vdupq_n_u32(0);
    for (std::int32_t k = from; k < from + group; k += 4) {
      const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(x + k));
      most = vmaxq_u32(most, vandq_u32(bits, vdupq_n_u32(kMagnitudeBits)));
    }
    const GroupScale scale = scale_of(vmaxvq_u32(most));
    *scales = scale.step;
    *offsets = 0;
    if (scale.inverse == 0) {
      __builtin_memset(values + from, 0, static_cast<std::size_t>(group));
      continue;
    }
    const float32x4_t inverse = vdupq_n_f32(scale.inverse);
    int32x4_t sum = vdupq_n_s32(0);
    for (std::int32_t k = from; k < from + group; k += 8) {
      const int32x4_t low = vcvtnq_s32_f32(vmulq_f32(vld1q_f32(x + k), inverse));
      const int32x4_t high = vcvtnq_s32_f32(vmulq_f32(vld1q_f32(x + k + 4), inverse));
      sum = vaddq_s32(sum, vaddq_s32(low, high));
      vst1_s8(values + k, vqmovn_s16(vcombine_s16(vqmovn_s32(low), vqmovn_s32(high))));
    }
    *offsets = -128 * vaddvq_s32(sum);
  }
}

}  // namespace
}  // namespace assay::kernels
