#include "kernels/unit.h"

// Compiled for ARMv8.2 with dot products (cmake/kernels.cmake): no standard templates here. Graviton2 and Ampere's
// Altra have them, Graviton3 and later the better unit of neon_i8mm_unit.cc.

#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)

#include "kernels/cpu_features.h"
#include "kernels/neon_tiles.h"
#include "kernels/neon_word_tiles.h"

namespace assay::kernels {
namespace {

// sdot multiplies 16 weights, four columns by four depths, with four values of a row.
struct DotTile {
  template <int kRows>
  static void add(const Block& block, std::size_t row, std::size_t panel) {
    const std::int8_t* a = block.a + row * block.a_stride;
    const std::uint8_t* w = block.w + panel * block.w_stride;
    int32x4_t dots[kRows][4];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) dots[i][0] = dots[i][1] = dots[i][2] = dots[i][3] = vdupq_n_s32(0);
    for (std::int32_t k = 0; k < block.group; k += 16, a += 16, w += 256) {
      int8x16_t values[kRows];
#pragma GCC unroll 4
      for (int i = 0; i < kRows; i++) values[i] = vld1q_s8(a + static_cast<std::size_t>(i) * block.a_stride);
      four_depths<kRows, 0>(dots, values, w);
      four_depths<kRows, 1>(dots, values, w + 64);
      four_depths<kRows, 2>(dots, values, w + 128);
      four_depths<kRows, 3>(dots, values, w + 192);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; i++) add_dots(block, row + static_cast<std::size_t>(i), panel, dots[i]);
  }

  template <int kRows, int kLane>
  static void four_depths(int32x4_t (&dots)[kRows][4], const int8x16_t (&values)[kRows], const std::uint8_t* w) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
      const int8x16_t weights = signed_weights(w + q * 16);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; i++) dots[i][q] = vdotq_laneq_s32(dots[i][q], weights, values[i], kLane);
    }
  }
};

constexpr Unit kUnit{.name = "neon-dotprod",
                     .panels_max = 2,
                     .quantise = quantise,
                     .multiply = multiply<DotTile>,
                     .quantise_words = quantise_words,
                     .multiply_words = multiply_words,
                     .untried = true};

}  // namespace

const Unit* neon_dotprod_unit() { return cpu_has(CpuFeature::kNeonDotprod) ? &kUnit : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const Unit* neon_dotprod_unit() { return nullptr; }

}  // namespace assay::kernels

#endif
