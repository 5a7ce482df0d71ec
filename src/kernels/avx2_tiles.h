#pragma once
// The 256-bit kernels, for the two files that compile them: with VNNI's instruction and without. Each includes this
// header in a build of its own, so all of it has internal linkage.

#include <immintrin.h>

#include "kernels/quantise_rules.h"
#include "kernels/unit.h"

namespace assay::kernels {
namespace {

inline __m256i four_values(const std::int8_t* at) {
  std::int32_t four;
  __builtin_memcpy(&four, at, 4);
  return _mm256_set1_epi32(four);
}

// `Dots` multiplies four weights with four values and adds. It says what it wants of both:
//   Weights prepare(__m256i packed): once for each vector of weights
//   kOffset: whether sums begin with the row's offset (weights stay unsigned) or with 0
template <typename Dots, int kRows>
void multiply_tile(const Block& block, std::size_t row, std::size_t panel) {
  const std::int8_t* a = block.a + row * block.a_stride;
  const std::uint8_t* w = block.w + panel * block.w_stride;
  __m256i dots[kRows][2];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; i++) {
    const std::size_t place = (row + static_cast<std::size_t>(i)) * block.a_group_stride;
    dots[i][0] = dots[i][1] = Dots::kOffset ? _mm256_set1_epi32(block.a_offsets[place]) : _mm256_setzero_si256();
  }
  const std::size_t stride = block.a_stride;
  for (std::int32_t k = 0; k < block.group; k += 4, a += 4, w += 64) {
    const typename Dots::Weights low = Dots::prepare(_mm256_load_si256(reinterpret_cast<const __m256i*>(w)));
    const typename Dots::Weights high = Dots::prepare(_mm256_load_si256(reinterpret_cast<const __m256i*>(w + 32)));
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) {
      const __m256i values = four_values(a + static_cast<std::size_t>(i) * stride);
      Dots::add(dots[i][0], low, values);
      Dots::add(dots[i][1], high, values);
    }
  }
  const float* const w_scales = block.w_scales + panel * block.w_scale_stride;
  const float* const w_mins = block.w_mins == nullptr ? nullptr : block.w_mins + panel * block.w_scale_stride;
#pragma GCC unroll 4
  for (int i = 0; i < kRows; i++) {
    const std::size_t at_row = row + static_cast<std::size_t>(i);
    const __m256 a_scale = _mm256_set1_ps(block.a_scales[at_row * block.a_group_stride]);
    float* const sums = block.sums + at_row * block.sums_stride + panel * kPanelColumns;
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
      const __m256 scale = _mm256_mul_ps(a_scale, _mm256_load_ps(w_scales + half * 8));
      const __m256 before = block.first ? _mm256_setzero_ps() : _mm256_load_ps(sums + half * 8);
      __m256 sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[i][half]), scale, before);
      if (w_mins != nullptr) {
        const __m256 a_sum = _mm256_mul_ps(
            a_scale, _mm256_cvtepi32_ps(_mm256_set1_epi32(block.a_offsets[at_row * block.a_group_stride])));
        sum = _mm256_fmadd_ps(a_sum, _mm256_load_ps(w_mins + half * 8), sum);
      }
      _mm256_store_ps(sums + half * 8, sum);
    }
  }
}

template <typename Dots>
void multiply_group(const Block& block) {
  constexpr std::int32_t kTileRows = 4;
  for (std::int32_t p = 0; p < block.panels; p++) {
    const auto panel = static_cast<std::size_t>(p);
    std::int32_t row = 0;
    for (; row + kTileRows <= block.rows; row += kTileRows)
      multiply_tile<Dots, 4>(block, static_cast<std::size_t>(row), panel);
    const auto left = static_cast<std::size_t>(row);
    switch (block.rows - row) {
      case 1:
        multiply_tile<Dots, 1>(block, left, panel);
        break;
      case 2:
        multiply_tile<Dots, 2>(block, left, panel);
        break;
      case 3:
        multiply_tile<Dots, 3>(block, left, panel);
        break;
      default:
        break;
    }
  }
}

template <typename Dots>
void multiply(const Block& block) {
  for (std::int32_t g = 0; g < block.groups; g++) multiply_group<Dots>(group_of(block, g));
}

inline __m256i larger_magnitude(__m256i most, const float* x) {
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(kMagnitudeBits));
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  return _mm256_max_epi32(most, _mm256_and_si256(mask, bits));  // magnitudes are not negative as integers
}

inline std::int32_t sum_of_lanes(__m256i v) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
  return _mm_cvtsi128_si32(half);
}

inline std::uint32_t most_of_lanes(__m256i v) {
  __m128i half = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(half));
}

inline void quantise(const float* x, std::int32_t depth, std::int32_t group, std::int8_t* values, float* scales,
                     std::int32_t* offsets) {
  for (std::int32_t from = 0; from < depth; from += group, scales++, offsets++) {
    __m256i most = _mm256_setzero_si256();
    for (std::int32_t k = from; k < from + group; k += 8) most = larger_magnitude(most, x + k);
    const GroupScale scale = scale_of(most_of_lanes(most));
    *scales = scale.step;
    *offsets = 0;
    if (scale.inverse == 0) {
      __builtin_memset(values + from, 0, static_cast<std::size_t>(group));
      continue;
    }
    const __m256 inverse = _mm256_set1_ps(scale.inverse);
    __m256i sum = _mm256_setzero_si256();
    for (std::int32_t k = from; k < from + group; k += 16) {
      const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + k), inverse));
      const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + k + 8), inverse));
      sum = _mm256_add_epi32(sum, _mm256_add_epi32(low, high));
      const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
      const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(values + k), bytes);
    }
    *offsets = -128 * sum_of_lanes(sum);
  }
}

}  // namespace
}  // namespace assay::kernels
