#include "kernels/quantise_rules.h"
#include "kernels/unit.h"

// Compiled for AVX-512 with VNNI (cmake/kernels.cmake), so nothing here may be inlined elsewhere: no standard
// templates.

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__)

#include <immintrin.h>

#include "kernels/avx512_words.h"
#include "kernels/cpu_features.h"

namespace assay::kernels {
namespace {

// GCC 12 spills the accumulators when this is an intrinsic; with a tied operand they stay in registers.
inline void add_dots(__m512i& sums, __m512i weights, __m512i values) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(values));
}

inline __m512i four_values(const std::int8_t* at) {
  std::int32_t four;
  __builtin_memcpy(&four, at, 4);
  return _mm512_set1_epi32(four);
}

inline __m512 offset_of(std::int32_t offset) { return _mm512_cvtepi32_ps(_mm512_set1_epi32(offset)); }

// The block's first rows fetch the next block's weights while they compute; later rows find the place in the cache
// already.
template <int kRows, int kPanels, bool kFetch>
void multiply_tile(const Block& block, std::size_t row) {
  const std::size_t ahead = block.w_ahead;
  const std::int8_t* a = block.a + row * block.a_stride;
  const float* const a_scales = block.a_scales + row * block.a_group_stride;
  const std::int32_t* const a_offsets = block.a_offsets + row * block.a_group_stride;
  const std::uint8_t* w = block.w;
  __m512i dots[kRows][kPanels];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; p++)
      dots[i][p] = _mm512_set1_epi32(a_offsets[static_cast<std::size_t>(i) * block.a_group_stride]);
  }
  const std::size_t stride = block.a_stride;
  for (std::int32_t k = 0; k < block.group; k += 4, a += 4, w += 64) {
    __m512i weights[kPanels];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; p++) {
      const std::uint8_t* const at = w + static_cast<std::size_t>(p) * block.w_stride;
      weights[p] = _mm512_load_si512(at);
      if constexpr (kFetch) _mm_prefetch(at + ahead, _MM_HINT_T0);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; i++) {
      const __m512i values = four_values(a + static_cast<std::size_t>(i) * stride);
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; p++) add_dots(dots[i][p], weights[p], values);
    }
  }
  float* sums = block.sums + row * block.sums_stride;
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i++) {
    const __m512 a_scale = _mm512_set1_ps(a_scales[static_cast<std::size_t>(i) * block.a_group_stride]);
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; p++) {
      float* const at = sums + static_cast<std::size_t>(i) * block.sums_stride + p * kPanelColumns;
      const __m512 scale =
          _mm512_mul_ps(a_scale, _mm512_load_ps(block.w_scales + static_cast<std::size_t>(p) * block.w_scale_stride));
      const __m512 before = block.first ? _mm512_setzero_ps() : _mm512_load_ps(at);
      __m512 sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[i][p]), scale, before);
      if (block.w_mins != nullptr) {
        const float* const w_min = block.w_mins + static_cast<std::size_t>(p) * block.w_scale_stride;
        sum = _mm512_fmadd_ps(
            _mm512_mul_ps(a_scale, offset_of(a_offsets[static_cast<std::size_t>(i) * block.a_group_stride])),
            _mm512_load_ps(w_min), sum);
      }
      _mm512_store_ps(at, sum);
    }
  }
}

using Tile = void (*)(const Block&, std::size_t);
constexpr int kTileRows = 8;

template <int kPanels, bool kFetch>
void run_tile(const Block& block, std::int32_t row, std::int32_t rows) {
  static constexpr Tile kTiles[kTileRows] = {multiply_tile<1, kPanels, kFetch>, multiply_tile<2, kPanels, kFetch>,
                                             multiply_tile<3, kPanels, kFetch>, multiply_tile<4, kPanels, kFetch>,
                                             multiply_tile<5, kPanels, kFetch>, multiply_tile<6, kPanels, kFetch>,
                                             multiply_tile<7, kPanels, kFetch>, multiply_tile<8, kPanels, kFetch>};
  kTiles[rows - 1](block, static_cast<std::size_t>(row));
}

template <int kPanels>
void multiply_panels(const Block& block) {
  for (std::int32_t row = 0; row < block.rows; row += kTileRows) {
    const std::int32_t rows = block.rows - row < kTileRows ? block.rows - row : kTileRows;
    if (row == 0) {
      run_tile<kPanels, true>(block, row, rows);
    } else {
      run_tile<kPanels, false>(block, row, rows);
    }
  }
}

// Several groups: the scaling after each would cost as much as its products if sums went through memory, so fewer rows
// keep both their dots and their sums in registers.
template <int kRows, int kPanels, bool kFetch, bool kMins>
void multiply_groups(const Block& block, std::size_t row) {
  const std::size_t ahead = block.w_ahead;
  const std::int8_t* a = block.a + row * block.a_stride;
  const float* const a_scales = block.a_scales + row * block.a_group_stride;
  const std::int32_t* const a_offsets = block.a_offsets + row * block.a_group_stride;
  const std::uint8_t* w = block.w;
  const std::size_t stride = block.a_stride;
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
      for (int p = 0; p < kPanels; p++)
        dots[i][p] = _mm512_set1_epi32(a_offsets[static_cast<std::size_t>(i) * block.a_group_stride + g]);
    }
    for (std::int32_t k = 0; k < block.group; k += 4, a += 4, w += 64) {
      __m512i weights[kPanels];
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; p++) {
        const std::uint8_t* const from = w + static_cast<std::size_t>(p) * block.w_stride;
        weights[p] = _mm512_load_si512(from);
        if constexpr (kFetch) _mm_prefetch(from + ahead, _MM_HINT_T0);
      }
#pragma GCC unroll 4
      for (int i = 0; i < kRows; i++) {
        const __m512i values = four_values(a + static_cast<std::size_t>(i) * stride);
#pragma GCC unroll 3
        for (int p = 0; p < kPanels; p++) add_dots(dots[i][p], weights[p], values);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) {
      const std::size_t of_group = static_cast<std::size_t>(i) * block.a_group_stride + static_cast<std::size_t>(g);
      const __m512 a_scale = _mm512_set1_ps(a_scales[of_group]);
      const __m512 a_sum = _mm512_mul_ps(a_scale, offset_of(a_offsets[of_group]));
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; p++) {
        const float* const w_scale =
            block.w_scales + static_cast<std::size_t>(p) * block.w_scale_stride + g * kPanelColumns;
        const __m512 scale = _mm512_mul_ps(a_scale, _mm512_load_ps(w_scale));
        sums[i][p] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[i][p]), scale, sums[i][p]);
        if constexpr (kMins) {
          const float* const w_min =
              block.w_mins + static_cast<std::size_t>(p) * block.w_scale_stride + g * kPanelColumns;
          sums[i][p] = _mm512_fmadd_ps(a_sum, _mm512_load_ps(w_min), sums[i][p]);
        }
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

template <int kPanels, bool kMins>
void multiply_all_groups(const Block& block) {
  static constexpr Tile kTiles[4] = {
      multiply_groups<1, kPanels, false, kMins>, multiply_groups<2, kPanels, false, kMins>,
      multiply_groups<3, kPanels, false, kMins>, multiply_groups<4, kPanels, false, kMins>};
  static constexpr Tile kFirst[4] = {multiply_groups<1, kPanels, true, kMins>, multiply_groups<2, kPanels, true, kMins>,
                                     multiply_groups<3, kPanels, true, kMins>,
                                     multiply_groups<4, kPanels, true, kMins>};
  for (std::int32_t row = 0; row < block.rows; row += 4) {
    const std::int32_t rows = block.rows - row < 4 ? block.rows - row : 4;
    (row == 0 ? kFirst : kTiles)[rows - 1](block, static_cast<std::size_t>(row));
  }
}

void multiply(const Block& block) {
  if (block.groups > 1) {
    using Panels = void (*)(const Block&);
    static constexpr Panels kPlain[3] = {multiply_all_groups<1, false>, multiply_all_groups<2, false>,
                                         multiply_all_groups<3, false>};
    static constexpr Panels kWithMins[3] = {multiply_all_groups<1, true>, multiply_all_groups<2, true>,
                                            multiply_all_groups<3, true>};
    (block.w_mins != nullptr ? kWithMins : kPlain)[block.panels - 1](block);
    return;
  }
  if (block.panels == 3) {
    multiply_panels<3>(block);
  } else if (block.panels == 2) {
    multiply_panels<2>(block);
  } else {
    multiply_panels<1>(block);
  }
}

std::uint32_t largest_magnitude(const float* x, std::int32_t count) {
  const __m512i mask = _mm512_set1_epi32(static_cast<int>(kMagnitudeBits));
  __m512i most = _mm512_setzero_si512();
  for (std::int32_t k = 0; k < count; k += 16)
    most = _mm512_max_epu32(most, _mm512_and_si512(mask, _mm512_loadu_si512(x + k)));
  return _mm512_reduce_max_epu32(most);
}

void quantise(const float* x, std::int32_t depth, std::int32_t group, std::int8_t* values, float* scales,
              std::int32_t* offsets) {
  for (std::int32_t from = 0; from < depth; from += group, scales++, offsets++) {
    const GroupScale scale = scale_of(largest_magnitude(x + from, group));
    *scales = scale.step;
    if (scale.inverse == 0) {
      __builtin_memset(values + from, 0, static_cast<std::size_t>(group));
      *offsets = 0;
      continue;
    }
    const __m512 inverse = _mm512_set1_ps(scale.inverse);
    __m512i sum = _mm512_setzero_si512();
    for (std::int32_t k = from; k < from + group; k += 16) {
      const __m512i rounded = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + k), inverse));
      sum = _mm512_add_epi32(sum, rounded);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(values + k), _mm512_cvtepi32_epi8(rounded));
    }
    *offsets = -128 * _mm512_reduce_add_epi32(sum);
  }
}

constexpr Unit kUnit{.name = "avx512-vnni",
                     .panels_max = 3,
                     .quantise = quantise,
                     .multiply = multiply,
                     .quantise_words = avx512_quantise_words,
                     .multiply_words = avx512_multiply_words};

}  // namespace

const Unit* avx512_vnni_unit() { return cpu_has(CpuFeature::kAvx512Vnni) ? &kUnit : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const Unit* avx512_vnni_unit() { return nullptr; }

}  // namespace assay::kernels

#endif
