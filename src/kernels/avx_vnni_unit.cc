#include "kernels/unit.h"

// Compiled for AVX2 with AVX-VNNI (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX2__) && defined(__AVXVNNI__)

#include "kernels/avx2_tiles.h"
#include "kernels/avx2_word_tiles.h"
#include "kernels/cpu_features.h"

namespace assay::kernels {
namespace {

struct UnsignedDots {
  static constexpr bool kOffset = true;
  using Weights = __m256i;
  static Weights prepare(__m256i packed) { return packed; }
  static void add(__m256i& sums, Weights weights, __m256i values) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(weights), "x"(values));
  }
};

struct WordDots {
  static void add(__m256i& sums, __m256i weights, __m256i values) {
    __asm__("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sums) : "x"(weights), "x"(values));
  }
};

constexpr Unit kUnit{.name = "avx-vnni",
                     .panels_max = 2,
                     .quantise = quantise,
                     .multiply = multiply<UnsignedDots>,
                     .quantise_words = quantise_words,
                     .multiply_words = multiply_words<WordDots>};

}  // namespace

const Unit* avx_vnni_unit() { return cpu_has(CpuFeature::kAvxVnni) ? &kUnit : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const Unit* avx_vnni_unit() { return nullptr; }

}  // namespace assay::kernels

#endif
