#pragma once
// Words on ARM, for any 64-bit one: both units take them. Each file includes this header in a build of its own, so all
// of it has internal linkage.

#include <arm_neon.h>

#include "kernels/quantise_rules.h"
#include "kernels/unit.h"

namespace assay::kernels {
namespace {

// Two depths of 16 columns times the values of two lanes of a row.
template <int kLane>
void add_two_depths(int32x4_t (&dots)[4], const int16x8x2_t (&w)[2], int16x4_t values) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    int32x4_t& low = dots[half * 2];
    int32x4_t& high = dots[half * 2 + 1];
    low = vmlal_lane_s16(low, vget_low_s16(w[half].val[0]), values, kLane);
    low = vmlal_lane_s16(low, vget_low_s16(w[half].val[1]), values, kLane + 1);
    high = vmlal_lane_s16(high, vget_high_s16(w[half].val[0]), values, kLane);
    high = vmlal_lane_s16(high, vget_high_s16(w[half].val[1]), values, kLane + 1);
  }
}

template <int kRows>
void multiply_words_tile(const WordBlock& block, std::size_t row, std::size_t panel) {
  const std::int16_t* a = block.a + row * block.a_stride;
  const std::int16_t* w = block.w + panel * block.w_stride;
  const float* w_scales = block.w_scales + panel * block.w_scale_stride;
  for (std::int32_t g = 0; g < block.groups; g++, w_scales += kPanelColumns) {
    int32x4_t dots[kRows][4];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) dots[i][0] = dots[i][1] = dots[i][2] = dots[i][3] = vdupq_n_s32(0);
    for (std::int32_t k = 0; k < kWordGroup; k += 4, a += 4, w += 64) {
      const int16x8x2_t first[2] = {vld2q_s16(w), vld2q_s16(w + 16)};
      const int16x8x2_t second[2] = {vld2q_s16(w + 32), vld2q_s16(w + 48)};
#pragma GCC unroll 4
      for (int i = 0; i < kRows; i++) {
        const int16x4_t values = vld1_s16(a + static_cast<std::size_t>(i) * block.a_stride);
        add_two_depths<0>(dots[i], first, values);
        add_two_depths<2>(dots[i], second, values);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) {
      const std::size_t at = row + static_cast<std::size_t>(i);
      const float32x4_t a_scale = vdupq_n_f32(block.a_scales[at * block.a_group_stride + static_cast<std::size_t>(g)]);
      float* const sums = block.sums + at * block.sums_stride + panel * kPanelColumns;
#pragma GCC unroll 4
      for (int q = 0; q < 4; q++) {
        const float32x4_t before = block.first && g == 0 ? vdupq_n_f32(0) : vld1q_f32(sums + q * 4);
        const float32x4_t scale = vmulq_f32(a_scale, vld1q_f32(w_scales + q * 4));
        vst1q_f32(sums + q * 4, vfmaq_f32(before, vcvtq_f32_s32(dots[i][q]), scale));
      }
    }
  }
}

inline void multiply_words(const WordBlock& block) {
  for (std::int32_t p = 0; p < block.panels; p++) {
    const auto panel = static_cast<std::size_t>(p);
    std::int32_t row = 0;
    for (; row + 4 <= block.rows; row += 4) multiply_words_tile<4>(block, static_cast<std::size_t>(row), panel);
    for (; row < block.rows; row++) multiply_words_tile<1>(block, static_cast<std::size_t>(row), panel);
  }
}

inline void quantise_words(const float* x, std::int32_t depth, std::int16_t* values, float* scales) {
  for (std::int32_t from = 0; from < depth; from += kWordGroup, scales++) {
    uint32x4_t most = vdupq_n_u32(0);
    for (std::int32_t k = from; k < from + kWordGroup; k += 4) {
      const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(x + k));
      most = vmaxq_u32(most, vandq_u32(bits, vdupq_n_u32(kMagnitudeBits)));
    }
    const GroupScale scale = scale_of(vmaxvq_u32(most), kRowLevels);
    *scales = scale.step;
    const float32x4_t inverse = vdupq_n_f32(scale.inverse);
    for (std::int32_t k = from; k < from + kWordGroup; k += 4) {
      const int32x4_t whole = vcvtnq_s32_f32(vmulq_f32(vld1q_f32(x + k), inverse));
      vst1_s16(values + k, scale.inverse == 0 ? vdup_n_s16(0) : vqmovn_s32(whole));
    }
  }
}

}  // namespace
}  // namespace assay::kernels
