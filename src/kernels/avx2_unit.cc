#include "kernels/unit.h"

// Compiled for AVX2 with FMA (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/avx2_tiles.h"
#include "kernels/avx2_word_tiles.h"
#include "kernels/cpu_features.h"

namespace assay::kernels {
namespace {

// vpmaddubsw adds two products in 16 bits and saturates: with one factor's magnitude and the other one's sign moved
// over, both are at most 127, and 2 * 127 * 127 < 32768.
struct SignedDots {
  static constexpr bool kOffset = false;
  struct Weights {
    __m256i signed_bytes;
    __m256i magnitudes;
  };
  static Weights prepare(__m256i packed) {
    const __m256i signed_bytes = _mm256_xor_si256(packed, _mm256_set1_epi8(-128));
    return {signed_bytes, _mm256_abs_epi8(signed_bytes)};
  }
  static void add(__m256i& sums, const Weights& weights, __m256i values) {
    const __m256i pairs = _mm256_maddubs_epi16(weights.magnitudes, _mm256_sign_epi8(values, weights.signed_bytes));
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

struct WordDots {
  static void add(__m256i& sums, __m256i weights, __m256i values) {
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(weights, values));
  }
};

constexpr Unit kUnit{.name = "avx2",
                     .panels_max = 2,
                     .quantise = quantise,
                     .multiply = multiply<SignedDots>,
                     .quantise_words = quantise_words,
                     .multiply_words = multiply_words<WordDots>};

}  // namespace

const Unit* avx2_unit() { return cpu_has(CpuFeature::kAvx2) ? &kUnit : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const Unit* avx2_unit() { return nullptr; }

}  // namespace assay::kernels

#endif
