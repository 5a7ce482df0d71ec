#include "kernels/attention.h"

// Compiled for AVX-512 (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)

#include <immintrin.h>

#include "kernels/attention_tiles.h"
#include "kernels/cpu_features.h"

namespace assay::kernels {
namespace {

struct Avx512 {
  using Floats = __m512;
  static constexpr int kScoreRows = 8;
  static constexpr int kScorePanels = 3;
  static constexpr int kOutRows = 6;
  static constexpr int kOutVectors = 4;

  static __m512 all(float x) { return _mm512_set1_ps(x); }
  static __m512 broadcast(const float* at) { return _mm512_set1_ps(*at); }
  static __m512 load(const float* at) { return _mm512_load_ps(at); }
  static void store(float* at, __m512 x) { _mm512_store_ps(at, x); }
  static void store_anywhere(float* at, __m512 x) { _mm512_storeu_ps(at, x); }
  static __m512 halves(const Half* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  // 16 numbers that are 16 apart.
  static __m512 column(const float* at) {
    const __m512i places = _mm512_set_epi32(240, 224, 208, 192, 176, 160, 144, 128, 112, 96, 80, 64, 48, 32, 16, 0);
    return _mm512_i32gather_ps(places, at, 4);
  }
  // A tied operand keeps the sums in registers, where GCC 12 would spill them.
  static void add_product(__m512& sums, __m512 a, __m512 b) {
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
  }
  static __m512 fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
  static __m512 mul(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
  static __m512 sub(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
  static __m512 max(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
  static float largest(__m512 x) { return _mm512_reduce_max_ps(x); }
  static __m512 nearest(__m512 x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT); }
  static __m512 times_power(__m512 y, __m512 n) {
    const __m512i exponent = _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(y), exponent));
  }
  static __m512 zero_below(__m512 x, float least, __m512 y) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(least), _CMP_GE_OQ), y);
  }
  static bool any_not_below_infinity(__m512 x) {
    return _mm512_cmp_ps_mask(x, _mm512_set1_ps(__builtin_inff()), _CMP_NLT_UQ) != 0;
  }

  struct Sum {
    __m512i low_units = _mm512_setzero_si512();
    __m512i high_units = _mm512_setzero_si512();
    void add(__m512 weight) {
      const __m512i units = _mm512_cvtps_epi32(_mm512_mul_ps(weight, _mm512_set1_ps(kSumScale)));
      low_units = _mm512_add_epi32(low_units, _mm512_and_si512(units, _mm512_set1_epi32(kSumLowMask)));
      high_units = _mm512_add_epi32(high_units, _mm512_srai_epi32(units, kSumLowBits));
    }
    static std::int64_t total(__m512i v) {
      return _mm512_reduce_add_epi64(_mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)),
                                                      _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1))));
    }
    std::int64_t low() const { return total(low_units); }
    std::int64_t high() const { return total(high_units); }
  };
};

constexpr AttentionUnit kUnit{.name = "avx512", .pack_keys = pack_keys<Avx512>, .attend = attend<Avx512>};

}  // namespace

const AttentionUnit* avx512_attention() { return cpu_has(CpuFeature::kAvx512Vnni) ? &kUnit : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const AttentionUnit* avx512_attention() { return nullptr; }

}  // namespace assay::kernels

#endif
