#include "kernels/avx512_words.h"

#include "kernels/quantise_rules.h"

// Compiled for AVX-512 with VNNI (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__)

#include <immintrin.h>

namespace assay::kernels {
namespace {

// Assembly for the reason that avx512_vnni_unit.cc gives.
inline void add_dots(__m512i& sums, __m512i weights, __m512i values) {
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(values));
}

inline __m512i two_words(const std::int16_t* at) {
  std::int32_t two;
  __builtin_memcpy(&two, at, 4);
  return _mm512_set1_epi32(two);
}

// Groups are short, so both their dots and their sums stay in registers. The block's first rows fetch the next block's
// weights while they compute.
template <int kRows, int kPanels, bool kFetch>
void multiply_tile(const WordBlock& block, std::size_t row) {
  const std::size_t ahead = block.w_ahead;
  const std::size_t stride = block.a_stride;
  const std::int16_t* a = block.a + row * stride;
  const std::int16_t* w = block.w;
  const float* const a_scales = block.a_scales + row * block.a_group_stride;
  float* const at = block.sums + row * block.sums_stride;
  __m512 sums[kRows][kPanels];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 3
    for (int p = 0; p < kPanels; p++)
      sums[i][p] = block.first
                       ? _mm512_setzero_ps()
                       : _mm512_load_ps(at + static_cast<std::size_t>(i) * block.sums_stride + p * kPanelColumns);
  }
  for (std::int32_t g = 0; g < block.groups; g++) {
    __m512i dots[kRows][kPanels];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; p++) dots[i][p] = _mm512_setzero_si512();
    }
    for (std::int32_t k = 0; k < kWordGroup; k += 2, a += 2, w += 2 * kPanelColumns) {
      __m512i weights[kPanels];
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; p++) {
        const std::int16_t* const from = w + static_cast<std::size_t>(p) * block.w_stride;
        weights[p] = _mm512_load_si512(from);
        if constexpr (kFetch) _mm_prefetch(from + ahead, _MM_HINT_T0);
      }
#pragma GCC unroll 4
      for (int i = 0; i < kRows; i++) {
        const __m512i values = two_words(a + static_cast<std::size_t>(i) * stride);
#pragma GCC unroll 3
        for (int p = 0; p < kPanels; p++) add_dots(dots[i][p], weights[p], values);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) {
      const __m512 a_scale =
          _mm512_set1_ps(a_scales[static_cast<std::size_t>(i) * block.a_group_stride + static_cast<std::size_t>(g)]);
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; p++) {
        const float* const w_scale =
            block.w_scales + static_cast<std::size_t>(p) * block.w_scale_stride + g * kPanelColumns;
        const __m512 scale = _mm512_mul_ps(a_scale, _mm512_load_ps(w_scale));
        sums[i][p] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[i][p]), scale, sums[i][p]);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 3
    for (int p = 0; p < kPanels; p++)
      _mm512_store_ps(at + static_cast<std::size_t>(i) * block.sums_stride + p * kPanelColumns, sums[i][p]);
  }
}

using Tile = void (*)(const WordBlock&, std::size_t);

template <int kPanels>
void multiply_panels(const WordBlock& block) {
  static constexpr Tile kFirst[4] = {multiply_tile<1, kPanels, true>, multiply_tile<2, kPanels, true>,
                                     multiply_tile<3, kPanels, true>, multiply_tile<4, kPanels, true>};
  static constexpr Tile kTiles[4] = {multiply_tile<1, kPanels, false>, multiply_tile<2, kPanels, false>,
                                     multiply_tile<3, kPanels, false>, multiply_tile<4, kPanels, false>};
  for (std::int32_t row = 0; row < block.rows; row += 4) {
    const std::int32_t rows = block.rows - row < 4 ? block.rows - row : 4;
    (row == 0 ? kFirst : kTiles)[rows - 1](block, static_cast<std::size_t>(row));
  }
}

std::uint32_t largest_magnitude(const float* x) {
  const __m512i mask = _mm512_set1_epi32(static_cast<int>(kMagnitudeBits));
  return _mm512_reduce_max_epu32(_mm512_max_epu32(_mm512_and_si512(mask, _mm512_loadu_si512(x)),
                                                  _mm512_and_si512(mask, _mm512_loadu_si512(x + 16))));
}

}  // namespace

void avx512_multiply_words(const WordBlock& block) {
  static constexpr void (*kPanels[3])(const WordBlock&) = {multiply_panels<1>, multiply_panels<2>, multiply_panels<3>};
  kPanels[block.panels - 1](block);
}

void avx512_quantise_words(const float* x, std::int32_t depth, std::int16_t* values, float* scales) {
  for (std::int32_t from = 0; from < depth; from += kWordGroup, scales++) {
    const GroupScale scale = scale_of(largest_magnitude(x + from), kRowLevels);
    *scales = scale.step;
    if (scale.inverse == 0) {
      __builtin_memset(values + from, 0, kWordGroup * sizeof(std::int16_t));
      continue;
    }
    const __m512 inverse = _mm512_set1_ps(scale.inverse);
    for (std::int32_t k = from; k < from + kWordGroup; k += 16) {
      const __m512i rounded = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + k), inverse));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + k), _mm512_cvtepi32_epi16(rounded));
    }
  }
}

}  // namespace assay::kernels

#endif
