#include "kernels/unit.h"

// Compiled for AVX-512 and AMX (cmake/kernels.cmake): no standard templates here. The tile instructions are written as
// assembly, because GCC before 14 drops the stores that fill the configuration when the intrinsic loads it.

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__x86_64__)

#include <immintrin.h>

#include "kernels/amx_tiles.h"
#include "kernels/avx512_words.h"
#include "kernels/cpu_features.h"

namespace assay::kernels {
namespace {

struct HardwareTiles {
  static void configure(const TileConfig& config) { __asm__ volatile("ldtilecfg %0" : : "m"(config)); }
  static void release() { __asm__ volatile("tilerelease" : : : "memory"); }
  template <int kTile>
  static void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  static void load(const void* from, std::size_t stride) {
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(from), "r"(stride) : "memory");
  }
  template <int kTile>
  static void store(void* to, std::size_t stride) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(to), "r"(stride) : "memory");
  }
  // sums += signed values times unsigned weights
  template <int kSums, int kValues, int kWeights>
  static void add_dots() {
    __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kValues), "i"(kWeights));
  }
};

void finish(const Block& block, std::int32_t row, std::int32_t rows, const std::int32_t* dots) {
  for (std::int32_t i = 0; i < rows; i++) {
    const auto at_row = static_cast<std::size_t>(row) + static_cast<std::size_t>(i);
    const __m512 a_scale = _mm512_set1_ps(block.a_scales[at_row * block.a_group_stride]);
    const __m512i offset = _mm512_set1_epi32(block.a_offsets[at_row * block.a_group_stride]);
    float* const sums = block.sums + at_row * block.sums_stride;
    for (std::int32_t p = 0; p < block.panels; p++, dots += kPanelColumns) {
      const __m512 scale =
          _mm512_mul_ps(a_scale, _mm512_load_ps(block.w_scales + static_cast<std::size_t>(p) * block.w_scale_stride));
      float* const at = sums + p * kPanelColumns;
      const __m512 before = block.first ? _mm512_setzero_ps() : _mm512_load_ps(at);
      const __m512i exact = _mm512_add_epi32(_mm512_load_si512(dots), offset);
      __m512 sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), scale, before);
      if (block.w_mins != nullptr) {
        const float* const w_min = block.w_mins + static_cast<std::size_t>(p) * block.w_scale_stride;
        sum = _mm512_fmadd_ps(_mm512_mul_ps(a_scale, _mm512_cvtepi32_ps(offset)), _mm512_load_ps(w_min), sum);
      }
      _mm512_store_ps(at, sum);
    }
  }
}

void multiply(const Block& block) {
  for (std::int32_t g = 0; g < block.groups; g++) multiply_in_tiles<HardwareTiles>(group_of(block, g), finish);
}

void begin(std::int32_t group) { HardwareTiles::configure(config_for(group)); }
void end() { HardwareTiles::release(); }

void quantise(const float* x, std::int32_t depth, std::int32_t group, std::int8_t* values, float* scales,
              std::int32_t* offsets) {
  avx512_vnni_unit()->quantise(x, depth, group, values, scales, offsets);
}

// Tiles have no products of 16-bit integers, so words are AVX-512's.
constexpr Unit kUnit{.name = "amx-int8",
                     .panels_max = 2,
                     .quantise = quantise,
                     .multiply = multiply,
                     .quantise_words = avx512_quantise_words,
                     .multiply_words = avx512_multiply_words,
                     .begin = begin,
                     .end = end};

}  // namespace

const Unit* amx_int8_unit() {
  return cpu_has(CpuFeature::kAmxInt8) && avx512_vnni_unit() != nullptr ? &kUnit : nullptr;
}

}  // namespace assay::kernels

#else

namespace assay::kernels {

const Unit* amx_int8_unit() { return nullptr; }

}  // namespace assay::kernels

#endif
