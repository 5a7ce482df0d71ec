#include "kernels/unit.h"

// Compiled for ARMv8.2 with int8 matrix products (cmake/kernels.cmake): no standard templates here. Graviton3 and
// later, Grace and Axion have them.

#if defined(__aarch64__) && defined(__ARM_FEATURE_MATMUL_INT8)

#include "kernels/cpu_features.h"
#include "kernels/neon_tiles.h"
#include "kernels/neon_word_tiles.h"

namespace assay::kernels {
namespace {

// smmla multiplies two rows by two columns, eight depths of each. The panels have four depths of four columns together;
// two of them, zipped, are two columns with eight depths, twice.
struct MatrixTile {
  template <int kRows>
  static void add(const Block& block, std::size_t row, std::size_t panel) {
    constexpr int kPairs = (kRows + 1) / 2;
    const std::int8_t* a[kPairs * 2];
#pragma GCC unroll 4
    for (int i = 0; i < kPairs * 2; i++) {
      const auto real = static_cast<std::size_t>(i < kRows ? i : kRows - 1);  // an odd row keeps itself company
      a[i] = block.a + (row + real) * block.a_stride;
    }
    const std::uint8_t* w = block.w + panel * block.w_stride;
    int32x4_t tiles[kPairs][8];
#pragma GCC unroll 2
    for (int p = 0; p < kPairs; p++) {
#pragma GCC unroll 8
      for (int c = 0; c < 8; c++) tiles[p][c] = vdupq_n_s32(0);
    }
    for (std::int32_t k = 0; k < block.group; k += 8, w += 128) {
      int8x16_t rows[kPairs];
#pragma GCC unroll 2
      for (int p = 0; p < kPairs; p++) rows[p] = vcombine_s8(vld1_s8(a[2 * p] + k), vld1_s8(a[2 * p + 1] + k));
#pragma GCC unroll 4
      for (int q = 0; q < 4; q++) {
        const int32x4_t near = vreinterpretq_s32_s8(signed_weights(w + q * 16));
        const int32x4_t far = vreinterpretq_s32_s8(signed_weights(w + 64 + q * 16));
        const int8x16_t first = vreinterpretq_s8_s32(vzip1q_s32(near, far));
        const int8x16_t second = vreinterpretq_s8_s32(vzip2q_s32(near, far));
#pragma GCC unroll 2
        for (int p = 0; p < kPairs; p++) {
          tiles[p][2 * q] = vmmlaq_s32(tiles[p][2 * q], rows[p], first);
          tiles[p][2 * q + 1] = vmmlaq_s32(tiles[p][2 * q + 1], rows[p], second);
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) {
      int32x4_t dots[4];
#pragma GCC unroll 4
      for (int q = 0; q < 4; q++) dots[q] = row_of(tiles[i / 2][2 * q], tiles[i / 2][2 * q + 1], i % 2 == 1);
      add_dots(block, row + static_cast<std::size_t>(i), panel, dots);
    }
  }

  // Four columns of one of the two rows that two tiles have.
  static int32x4_t row_of(int32x4_t first, int32x4_t second, bool lower) {
    return lower ? vcombine_s32(vget_high_s32(first), vget_high_s32(second))
                 : vcombine_s32(vget_low_s32(first), vget_low_s32(second));
  }
};

constexpr Unit kUnit{.name = "neon-i8mm",
                     .panels_max = 2,
                     .quantise = quantise,
                     .multiply = multiply<MatrixTile>,
                     .quantise_words = quantise_words,
                     .multiply_words = multiply_words,
                     .untried = true};

}  // namespace

const Unit* neon_i8mm_unit() { return cpu_has(CpuFeature::kNeonI8mm) ? &kUnit : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const Unit* neon_i8mm_unit() { return nullptr; }

}  // namespace assay::kernels

#endif
