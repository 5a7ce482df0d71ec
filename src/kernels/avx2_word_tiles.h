#pragma once
// The 256-bit kernels for words, for the two files that compile avx2_tiles.h; internal linkage as there.

#include <immintrin.h>

#include "kernels/avx2_tiles.h"
#include "kernels/quantise_rules.h"
#include "kernels/unit.h"

namespace assay::kernels {
namespace {

inline __m256i two_words(const std::int16_t* at) {
  std::int32_t two;
  __builtin_memcpy(&two, at, 4);
  return _mm256_set1_epi32(two);
}

// One group of the block. `Dots::add` multiplies pairs of weights with pairs of values and adds both products.
template <typename Dots, int kRows>
void multiply_word_tile(const WordBlock& block, std::size_t row, std::size_t panel, std::size_t group) {
  const std::size_t stride = block.a_stride;
  const std::int16_t* a = block.a + row * stride + group * kWordGroup;
  const std::int16_t* w = block.w + panel * block.w_stride + group * kWordGroup * kPanelColumns;
  __m256i dots[kRows][2];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; i++) dots[i][0] = dots[i][1] = _mm256_setzero_si256();
  for (std::int32_t k = 0; k < kWordGroup; k += 2, a += 2, w += 2 * kPanelColumns) {
    const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(w));
    const __m256i high = _mm256_load_si256(reinterpret_cast<const __m256i*>(w + kPanelColumns));
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) {
      const __m256i values = two_words(a + static_cast<std::size_t>(i) * stride);
      Dots::add(dots[i][0], low, values);
      Dots::add(dots[i][1], high, values);
    }
  }
  const float* const w_scales = block.w_scales + panel * block.w_scale_stride + group * kPanelColumns;
  const bool first = block.first && group == 0;
#pragma GCC unroll 4
  for (int i = 0; i < kRows; i++) {
    const std::size_t at_row = row + static_cast<std::size_t>(i);
    const __m256 a_scale = _mm256_set1_ps(block.a_scales[at_row * block.a_group_stride + group]);
    float* const sums = block.sums + at_row * block.sums_stride + panel * kPanelColumns;
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
      const __m256 scale = _mm256_mul_ps(a_scale, _mm256_load_ps(w_scales + half * 8));
      const __m256 before = first ? _mm256_setzero_ps() : _mm256_load_ps(sums + half * 8);
      _mm256_store_ps(sums + half * 8, _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[i][half]), scale, before));
    }
  }
}

template <typename Dots>
void multiply_word_panel(const WordBlock& block, std::size_t panel, std::size_t group) {
  constexpr std::int32_t kTileRows = 4;
  std::int32_t row = 0;
  for (; row + kTileRows <= block.rows; row += kTileRows)
    multiply_word_tile<Dots, kTileRows>(block, static_cast<std::size_t>(row), panel, group);
  const auto left = static_cast<std::size_t>(row);
  switch (block.rows - row) {
    case 1:
      multiply_word_tile<Dots, 1>(block, left, panel, group);
      break;
    case 2:
      multiply_word_tile<Dots, 2>(block, left, panel, group);
      break;
    case 3:
      multiply_word_tile<Dots, 3>(block, left, panel, group);
      break;
    default:
      break;
  }
}

template <typename Dots>
void multiply_words(const WordBlock& block) {
  for (std::int32_t g = 0; g < block.groups; g++) {
    for (std::int32_t p = 0; p < block.panels; p++)
      multiply_word_panel<Dots>(block, static_cast<std::size_t>(p), static_cast<std::size_t>(g));
  }
}

inline void quantise_words(const float* x, std::int32_t depth, std::int16_t* values, float* scales) {
  for (std::int32_t from = 0; from < depth; from += kWordGroup, scales++) {
    __m256i most = _mm256_setzero_si256();
    for (std::int32_t k = from; k < from + kWordGroup; k += 8) most = larger_magnitude(most, x + k);
    const GroupScale scale = scale_of(most_of_lanes(most), kRowLevels);
    *scales = scale.step;
    if (scale.inverse == 0) {
      __builtin_memset(values + from, 0, kWordGroup * sizeof(std::int16_t));
      continue;
    }
    const __m256 inverse = _mm256_set1_ps(scale.inverse);
    for (std::int32_t k = from; k < from + kWordGroup; k += 16) {
      const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + k), inverse));
      const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + k + 8), inverse));
      const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + k), words);
    }
  }
}

}  // namespace
}  // namespace assay::kernels
