#include "kernels/attention.h"

// Compiled for AVX2 with FMA and F16C (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include <immintrin.h>

#include "kernels/attention_tiles.h"
#include "kernels/cpu_features.h"

namespace assay::kernels {
namespace {

// 16 floats in two registers; of 16 registers the sums take 12.
struct Avx2 {
  struct Floats {
    __m256 a, b;
  };
  static constexpr int kScoreRows = 6;
  static constexpr int kScorePanels = 1;
  static constexpr int kOutRows = 3;
  static constexpr int kOutVectors = 2;

  static Floats all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static __m256 broadcast(const float* at) { return _mm256_broadcast_ss(at); }
  static Floats load(const float* at) { return {_mm256_load_ps(at), _mm256_load_ps(at + 8)}; }
  static void store(float* at, const Floats& x) {
    _mm256_store_ps(at, x.a);
    _mm256_store_ps(at + 8, x.b);
  }
  static void store_anywhere(float* at, const Floats& x) {
    _mm256_storeu_ps(at, x.a);
    _mm256_storeu_ps(at + 8, x.b);
  }
  static Floats halves(const Half* at) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))),
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 8)))};
  }
  static Floats column(const float* at) {
    const __m256i places = _mm256_set_epi32(112, 96, 80, 64, 48, 32, 16, 0);
    return {_mm256_i32gather_ps(at, places, 4), _mm256_i32gather_ps(at + 128, places, 4)};
  }
  static void add_product(Floats& sums, __m256 x, const Floats& y) {
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(sums.a) : "x"(x), "x"(y.a));
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(sums.b) : "x"(x), "x"(y.b));
  }
  static Floats fma(const Floats& x, const Floats& y, const Floats& z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
  }
  static Floats mul(const Floats& x, const Floats& y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  static Floats sub(const Floats& x, const Floats& y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  static Floats max(const Floats& x, const Floats& y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
  static float largest(const Floats& x) {
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, _mm256_max_ps(x.a, x.b));
    float most = lanes[0];
    for (int i = 1; i < 8; i++) most = lanes[i] > most ? lanes[i] : most;
    return most;
  }
  static Floats nearest(const Floats& x) {
    return {_mm256_round_ps(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
            _mm256_round_ps(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  static __m256 half_times_power(__m256 y, __m256 n) {
    const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), exponent));
  }
  static Floats times_power(const Floats& y, const Floats& n) {
    return {half_times_power(y.a, n.a), half_times_power(y.b, n.b)};
  }
  static Floats zero_below(const Floats& x, float least, const Floats& y) {
    const __m256 bound = _mm256_set1_ps(least);
    return {_mm256_and_ps(_mm256_cmp_ps(x.a, bound, _CMP_GE_OQ), y.a),
            _mm256_and_ps(_mm256_cmp_ps(x.b, bound, _CMP_GE_OQ), y.b)};
  }
  static bool any_not_below_infinity(const Floats& x) {
    const __m256 infinity = _mm256_set1_ps(__builtin_inff());
    return _mm256_movemask_ps(
               _mm256_or_ps(_mm256_cmp_ps(x.a, infinity, _CMP_NLT_UQ), _mm256_cmp_ps(x.b, infinity, _CMP_NLT_UQ))) != 0;
  }

  struct Sum {
    __m256i low_units = _mm256_setzero_si256();
    __m256i high_units = _mm256_setzero_si256();
    void add_half(__m256 weight) {
      const __m256i units = _mm256_cvtps_epi32(_mm256_mul_ps(weight, _mm256_set1_ps(kSumScale)));
      low_units = _mm256_add_epi32(low_units, _mm256_and_si256(units, _mm256_set1_epi32(kSumLowMask)));
      high_units = _mm256_add_epi32(high_units, _mm256_srai_epi32(units, kSumLowBits));
    }
    void add(const Floats& weight) {
      add_half(weight.a);
      add_half(weight.b);
    }
    static std::int64_t total(__m256i v) {
      alignas(32) std::int32_t lanes[8];
      _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), v);
      std::int64_t sum = 0;
      for (const std::int32_t lane : lanes) sum += lane;
      return sum;
    }
    std::int64_t low() const { return total(low_units); }
    std::int64_t high() const { return total(high_units); }
  };
};

constexpr AttentionUnit kUnit{.name = "avx2", .pack_keys = pack_keys<Avx2>, .attend = attend<Avx2>};

}  // namespace

const AttentionUnit* avx2_attention() { return cpu_has(CpuFeature::kAvx2) ? &kUnit : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const AttentionUnit* avx2_attention() { return nullptr; }

}  // namespace assay::kernels

#endif
