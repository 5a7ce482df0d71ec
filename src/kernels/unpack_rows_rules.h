#pragma once
// The body of unpack_rows.h's functions; included by one file for each instruction set, so no standard templates here.
// The layouts are those of ggml's ggml-common.h, the products and differences in the order of its dequantize_row_*().

#include <immintrin.h>

#include "kernels/unpack_rows.h"

namespace assay::kernels {
namespace {

constexpr std::int64_t kBlock = 256;

struct BlockQ4K {
  std::uint16_t scale, min;  // half precision
  std::uint8_t scales[12];   // eight scales and eight minima of 6 bits
  std::uint8_t low[128];
};
static_assert(sizeof(BlockQ4K) == 144);

struct BlockQ5K {
  std::uint16_t scale, min;
  std::uint8_t scales[12];
  std::uint8_t high[32];
  std::uint8_t low[128];
};
static_assert(sizeof(BlockQ5K) == 176);

struct BlockQ6K {
  std::uint8_t low[128];
  std::uint8_t high[64];
  std::int8_t scales[16];
  std::uint16_t scale;
};
static_assert(sizeof(BlockQ6K) == 210);

inline float half(std::uint16_t bits) { return _cvtsh_ss(bits); }

inline std::int32_t scale_at(const std::uint8_t* scales, int j) {
  return j < 4 ? scales[j] & 63 : (scales[j + 4] & 15) | ((scales[j - 4] >> 6) << 4);
}
inline std::int32_t min_at(const std::uint8_t* scales, int j) {
  return j < 4 ? scales[j + 4] & 63 : (scales[j + 4] >> 4) | ((scales[j] >> 6) << 4);
}

// 32 numbers: a nibble each, and for Q5_K a bit more.
template <int kShift>
inline void unpack_nibbles(const std::uint8_t* low, float scale, float min, float* out) {
  for (int i = 0; i < 32; i++) out[i] = scale * static_cast<float>((low[i] >> kShift) & 15) - min;
}
template <int kShift>
inline void unpack_nibbles(const std::uint8_t* low, const std::uint8_t* high, int bit, float scale, float min,
                           float* out) {
  for (int i = 0; i < 32; i++) {
    const std::int32_t number = ((low[i] >> kShift) & 15) | (((high[i] >> bit) & 1) << 4);
    out[i] = scale * static_cast<float>(number) - min;
  }
}

inline void unpack_q4k(const void* blocks, float* out, std::int64_t count) {
  const auto* block = static_cast<const BlockQ4K*>(blocks);
  for (const float* const end = out + count; out != end; block++) {
    const float scale = half(block->scale);
    const float min = half(block->min);
    for (int j = 0; j < 8; j += 2, out += 64) {
      const std::uint8_t* const low = block->low + j * 16;
      unpack_nibbles<0>(low, scale * static_cast<float>(scale_at(block->scales, j)),
                        min * static_cast<float>(min_at(block->scales, j)), out);
      unpack_nibbles<4>(low, scale * static_cast<float>(scale_at(block->scales, j + 1)),
                        min * static_cast<float>(min_at(block->scales, j + 1)), out + 32);
    }
  }
}

inline void unpack_q5k(const void* blocks, float* out, std::int64_t count) {
  const auto* block = static_cast<const BlockQ5K*>(blocks);
  for (const float* const end = out + count; out != end; block++) {
    const float scale = half(block->scale);
    const float min = half(block->min);
    for (int j = 0; j < 8; j += 2, out += 64) {
      const std::uint8_t* const low = block->low + j * 16;
      unpack_nibbles<0>(low, block->high, j, scale * static_cast<float>(scale_at(block->scales, j)),
                        min * static_cast<float>(min_at(block->scales, j)), out);
      unpack_nibbles<4>(low, block->high, j + 1, scale * static_cast<float>(scale_at(block->scales, j + 1)),
                        min * static_cast<float>(min_at(block->scales, j + 1)), out + 32);
    }
  }
}

// 16 numbers with one scale.
template <int kLowShift, int kHighShift>
inline void unpack_sixes(const std::uint8_t* low, const std::uint8_t* high, float scale, float* out) {
  for (int i = 0; i < 16; i++) {
    const std::int32_t number = ((low[i] >> kLowShift) & 15) | (((high[i] >> kHighShift) & 3) << 4);
    out[i] = scale * static_cast<float>(number - 32);
  }
}

inline void unpack_q6k(const void* blocks, float* out, std::int64_t count) {
  const auto* block = static_cast<const BlockQ6K*>(blocks);
  for (const float* const end = out + count; out != end; block++) {
    const float scale = half(block->scale);
    for (int half_block = 0; half_block < 2; half_block++, out += kBlock / 2) {
      const std::uint8_t* const low = block->low + half_block * 64;
      const std::uint8_t* const high = block->high + half_block * 32;
      const std::int8_t* const scales = block->scales + half_block * 8;
      for (int part = 0; part < 2; part++) {
        const int at = part * 16;
        unpack_sixes<0, 0>(low + at, high + at, scale * static_cast<float>(scales[part]), out + at);
        unpack_sixes<0, 2>(low + at + 32, high + at, scale * static_cast<float>(scales[part + 2]), out + at + 32);
        unpack_sixes<4, 4>(low + at, high + at, scale * static_cast<float>(scales[part + 4]), out + at + 64);
        unpack_sixes<4, 6>(low + at + 32, high + at, scale * static_cast<float>(scales[part + 6]), out + at + 96);
      }
    }
  }
}

inline void unpack_f16(const void* halves, float* out, std::int64_t count) {
  const auto* from = static_cast<const std::uint16_t*>(halves);
  for (const float* const end = out + count; out != end; from += 8, out += 8)
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

inline void unpack_bf16(const void* halves, float* out, std::int64_t count) {
  const auto* from = static_cast<const std::uint16_t*>(halves);
  for (const float* const end = out + count; out != end; from += 8, out += 8) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_slli_epi32(_mm256_cvtepu16_epi32(eight), 16));
  }
}

inline UnpackRow unpack_here(UnpackKind kind) {
  switch (kind) {
    case UnpackKind::kQ4K:
      return unpack_q4k;
    case UnpackKind::kQ5K:
      return unpack_q5k;
    case UnpackKind::kQ6K:
      return unpack_q6k;
    case UnpackKind::kF16:
      return unpack_f16;
    case UnpackKind::kBf16:
      return unpack_bf16;
  }
  return nullptr;
}

}  // namespace
}  // namespace assay::kernels
