#include "kernels/attention.h"

// Compiled for AVX-512 (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)

#include <immintrin.h>

#include "kernels/attention_rules.h"
#include "kernels/cpu_features.h"

// Two products in registers, as in avx512_vnni_unit.cc: scores of 8 rows by 3 panels of cells, outputs of 6 rows by 64
// of the depth. Between them the scores of all rows lie in scratch, by visible panel: [rows][panel_count * 16].

namespace assay::kernels {
namespace {

constexpr int kScoreRows = 8;
constexpr int kScorePanels = 3;
constexpr int kOutRows = 6;
constexpr int kOutVectors = 4;

__m512 halves(const Half* at) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))); }

// A tied operand keeps the sums in registers, where GCC 12 would spill them.
inline void add_product(__m512& sums, __m512 a, __m512 b) {
  __asm__("vfmadd231ps %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
}

void pack_keys(const Half* keys, std::size_t stride_bytes, std::int32_t depth, float* panel) {
  const std::size_t stride = stride_bytes / sizeof(Half);
  for (std::int32_t from = 0; from < depth; from += 16) {
    __m512 rows[16];
    for (std::size_t i = 0; i < 16; i++) rows[i] = halves(keys + i * stride + from);
    alignas(64) float square[16][16];
    for (std::size_t i = 0; i < 16; i++) _mm512_store_ps(square[i], rows[i]);
    const __m512i step = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                            _mm512_set1_epi32(16));
    for (std::int32_t d = 0; d < 16; d++) {
      const __m512 column = _mm512_i32gather_ps(step, &square[0][d], 4);
      _mm512_store_ps(panel + static_cast<std::ptrdiff_t>(from + d) * kPanelCells, column);
    }
  }
}

// Scores of kRows rows by kPanels panels.
template <int kRows, int kPanels>
void score_tile(const AttentionBlock& block, const float* queries, std::int32_t row, std::int32_t panel,
                float* scores) {
  const float* keys[kPanels];
  for (int p = 0; p < kPanels; p++)
    keys[p] = block.keys + static_cast<std::ptrdiff_t>(block.panels[panel + p]) * block.depth * kPanelCells;
  __m512 sums[kRows][kPanels];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 3
    for (int p = 0; p < kPanels; p++) sums[i][p] = _mm512_setzero_ps();
  }
  const float* const rows = queries + static_cast<std::ptrdiff_t>(row) * block.depth;
  for (std::int32_t d = 0; d < block.depth; d++) {
    __m512 cells[kPanels];
#pragma GCC unroll 3
    for (int p = 0; p < kPanels; p++) cells[p] = _mm512_load_ps(keys[p] + d * kPanelCells);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; i++) {
      const __m512 query = _mm512_set1_ps(rows[static_cast<std::ptrdiff_t>(i) * block.depth + d]);
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; p++) add_product(sums[i][p], query, cells[p]);
    }
  }
  const __m512 scale = _mm512_set1_ps(block.scale);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 3
    for (int p = 0; p < kPanels; p++) {
      const __m512 mask =
          halves(block.masks[row + i] + static_cast<std::ptrdiff_t>(block.panels[panel + p]) * kPanelCells);
      float* const at = scores + (static_cast<std::ptrdiff_t>(row + i) * block.panel_count + panel + p) * kPanelCells;
      _mm512_store_ps(at, _mm512_fmadd_ps(sums[i][p], scale, mask));
    }
  }
}

template <int kRows>
void score_rows(const AttentionBlock& block, const float* queries, std::int32_t row, float* scores) {
  std::int32_t panel = 0;
  for (; panel + kScorePanels <= block.panel_count; panel += kScorePanels)
    score_tile<kRows, kScorePanels>(block, queries, row, panel, scores);
  for (; panel < block.panel_count; panel++) score_tile<kRows, 1>(block, queries, row, panel, scores);
}

__m512 exponential(__m512 x) {
  const __mmask16 counts = _mm512_cmp_ps_mask(x, _mm512_set1_ps(kExpLeast), _CMP_GE_OQ);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(kLog2E)), _MM_FROUND_TO_NEAREST_INT);
  __m512 f = _mm512_fmadd_ps(n, _mm512_set1_ps(-kLn2High), x);
  f = _mm512_fmadd_ps(n, _mm512_set1_ps(-kLn2Low), f);
  __m512 y = _mm512_set1_ps(kExp[0]);
#pragma GCC unroll 6
  for (int i = 1; i < 7; i++) y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(kExp[i]));
  const __m512i bits = _mm512_add_epi32(_mm512_castps_si512(y), _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23));
  return _mm512_maskz_mov_ps(counts, _mm512_castsi512_ps(bits));
}

// Scores become weights; returns what the sum of products has to be multiplied with. `broken`: some score is infinite
// or no number.
float weigh_row(float* scores, std::int32_t panels, bool* broken) {
  __m512 most = _mm512_set1_ps(-__builtin_inff());
  const __m512 infinity = _mm512_set1_ps(__builtin_inff());
  __mmask16 none = 0;
  for (std::int32_t p = 0; p < panels; p++) {
    const __m512 s = _mm512_load_ps(scores + p * kPanelCells);
    none = static_cast<__mmask16>(none | _mm512_cmp_ps_mask(s, infinity, _CMP_NLT_UQ));
    most = _mm512_max_ps(most, s);
  }
  *broken = none != 0;
  const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(most));
  const __m512i low_mask = _mm512_set1_epi32(kSumLowMask);
  __m512i low = _mm512_setzero_si512();
  __m512i high = _mm512_setzero_si512();
  for (std::int32_t p = 0; p < panels; p++) {
    float* const at = scores + p * kPanelCells;
    const __m512 weight = exponential(_mm512_sub_ps(_mm512_load_ps(at), top));
    _mm512_store_ps(at, weight);
    const __m512i units = _mm512_cvtps_epi32(_mm512_mul_ps(weight, _mm512_set1_ps(kSumScale)));
    low = _mm512_add_epi32(low, _mm512_and_si512(units, low_mask));
    high = _mm512_add_epi32(high, _mm512_srai_epi32(units, kSumLowBits));
  }
  const auto total = [](__m512i v) {
    return _mm512_reduce_add_epi64(_mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)),
                                                    _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1))));
  };
  return inverse_of(total(low), total(high));
}

template <int kRows, int kVectors>
void out_tile(const AttentionBlock& block, const float* weights, std::int32_t row, std::int32_t from,
              const float* inverses) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 6
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v++) sums[i][v] = _mm512_setzero_ps();
  }
  const std::size_t stride = block.value_stride / sizeof(Half);
  const std::ptrdiff_t row_stride = static_cast<std::ptrdiff_t>(block.panel_count) * kPanelCells;
  for (std::int32_t p = 0; p < block.panel_count; p++) {
    const Half* cell = block.values + static_cast<std::size_t>(block.panels[p]) * kPanelCells * stride + from;
    const float* weight = weights + row * row_stride + p * kPanelCells;
    for (std::int32_t j = 0; j < kPanelCells; j++, cell += stride, weight++) {
      __m512 values[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; v++) values[v] = halves(cell + v * 16);
#pragma GCC unroll 6
      for (int i = 0; i < kRows; i++) {
        const __m512 w = _mm512_set1_ps(weight[i * row_stride]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; v++) add_product(sums[i][v], w, values[v]);
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kRows; i++) {
    const __m512 inverse = _mm512_set1_ps(inverses[row + i]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v++)
      _mm512_storeu_ps(block.out[row + i] + from + v * 16, _mm512_mul_ps(sums[i][v], inverse));
  }
}

template <int kRows>
void out_rows(const AttentionBlock& block, const float* weights, std::int32_t row, const float* inverses) {
  std::int32_t from = 0;
  for (; from + kOutVectors * 16 <= block.depth; from += kOutVectors * 16)
    out_tile<kRows, kOutVectors>(block, weights, row, from, inverses);
  for (; from < block.depth; from += 16) out_tile<kRows, 1>(block, weights, row, from, inverses);
}

using ScoreRows = void (*)(const AttentionBlock&, const float*, std::int32_t, float*);
constexpr ScoreRows kScore[kScoreRows] = {score_rows<1>, score_rows<2>, score_rows<3>, score_rows<4>,
                                          score_rows<5>, score_rows<6>, score_rows<7>, score_rows<8>};
using OutRows = void (*)(const AttentionBlock&, const float*, std::int32_t, const float*);
constexpr OutRows kOut[kOutRows] = {out_rows<1>, out_rows<2>, out_rows<3>, out_rows<4>, out_rows<5>, out_rows<6>};

void attend(const AttentionBlock& block) {
  float* const scores = block.scratch;
  float* const queries = scores + static_cast<std::ptrdiff_t>(kAttentionRows) * block.panel_count * kPanelCells;
  const auto depth = static_cast<std::size_t>(block.depth);
  for (std::int32_t i = 0; i < block.rows; i++)
    __builtin_memcpy(queries + static_cast<std::size_t>(i) * depth, block.queries[i], depth * sizeof(float));
  for (std::int32_t row = 0; row < block.rows; row += kScoreRows) {
    const std::int32_t rows = block.rows - row < kScoreRows ? block.rows - row : kScoreRows;
    kScore[rows - 1](block, queries, row, scores);
  }
  float inverses[kAttentionRows];
  bool broken[kAttentionRows];
  for (std::int32_t i = 0; i < block.rows; i++) {
    inverses[i] = weigh_row(scores + static_cast<std::ptrdiff_t>(i) * block.panel_count * kPanelCells,
                            block.panel_count, &broken[i]);
  }
  for (std::int32_t row = 0; row < block.rows; row += kOutRows) {
    const std::int32_t rows = block.rows - row < kOutRows ? block.rows - row : kOutRows;
    kOut[rows - 1](block, scores, row, inverses);
  }
  for (std::int32_t i = 0; i < block.rows; i++) {
    for (std::int32_t d = 0; broken[i] && d < block.depth; d++) block.out[i][d] = __builtin_nanf("");
  }
}

constexpr AttentionUnit kUnit{.name = "avx512", .pack_keys = pack_keys, .attend = attend};

}  // namespace

const AttentionUnit* avx512_attention() { return cpu_has(CpuFeature::kAvx512Vnni) ? &kUnit : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const AttentionUnit* avx512_attention() { return nullptr; }

}  // namespace assay::kernels

#endif
