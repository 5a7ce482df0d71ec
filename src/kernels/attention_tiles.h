#pragma once
// Attention on vectors of 16 floats, for the files that compile it for one instruction set each. `V` has the vectors
// and their operations, and how large the products in registers are. All of it has internal linkage.
//
// Two products in registers: scores of some rows by some panels of cells, outputs of some rows by some vectors of the
// depth. Between them the scores of all rows lie in scratch, by visible panel: [rows][panel_count * 16].

#include "kernels/attention.h"
#include "kernels/attention_rules.h"

namespace assay::kernels {
namespace {

template <typename V>
void pack_keys(const Half* keys, std::size_t stride_bytes, std::int32_t depth, float* panel) {
  const std::size_t stride = stride_bytes / sizeof(Half);
  for (std::int32_t from = 0; from < depth; from += 16) {
    alignas(64) float square[16][16];
    for (std::size_t i = 0; i < 16; i++) V::store(square[i], V::halves(keys + i * stride + from));
    float* const to = panel + static_cast<std::ptrdiff_t>(from) * kPanelCells;
    for (std::int32_t d = 0; d < 16; d++) V::store(to + d * kPanelCells, V::column(&square[0][d]));
  }
}

// Scores of kRows rows by kPanels panels.
template <typename V, int kRows, int kPanels>
void score_tile(const AttentionBlock& block, const float* queries, std::int32_t row, std::int32_t panel,
                float* scores) {
  const float* keys[kPanels];
  for (int p = 0; p < kPanels; p++)
    keys[p] = block.keys + static_cast<std::ptrdiff_t>(block.panels[panel + p]) * block.depth * kPanelCells;
  typename V::Floats sums[kRows][kPanels];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 3
    for (int p = 0; p < kPanels; p++) sums[i][p] = V::all(0);
  }
  const float* const rows = queries + static_cast<std::ptrdiff_t>(row) * block.depth;
  for (std::int32_t d = 0; d < block.depth; d++) {
    typename V::Floats cells[kPanels];
#pragma GCC unroll 3
    for (int p = 0; p < kPanels; p++) cells[p] = V::load(keys[p] + d * kPanelCells);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; i++) {
      const auto query = V::broadcast(rows + static_cast<std::ptrdiff_t>(i) * block.depth + d);
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; p++) V::add_product(sums[i][p], query, cells[p]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 3
    for (int p = 0; p < kPanels; p++) {
      const Half* const mask =
          block.masks[row + i] + static_cast<std::ptrdiff_t>(block.panels[panel + p]) * kPanelCells;
      float* const at = scores + (static_cast<std::ptrdiff_t>(row + i) * block.panel_count + panel + p) * kPanelCells;
      V::store(at, V::fma(sums[i][p], V::all(block.scale), V::halves(mask)));
    }
  }
}

template <typename V, int kRows>
void score_rows(const AttentionBlock& block, const float* queries, std::int32_t row, float* scores) {
  std::int32_t panel = 0;
  for (; panel + V::kScorePanels <= block.panel_count; panel += V::kScorePanels)
    score_tile<V, kRows, V::kScorePanels>(block, queries, row, panel, scores);
  for (; panel < block.panel_count; panel++) score_tile<V, kRows, 1>(block, queries, row, panel, scores);
}

template <typename V>
typename V::Floats exponential(typename V::Floats x) {
  const auto n = V::nearest(V::mul(x, V::all(kLog2E)));
  auto f = V::fma(n, V::all(-kLn2High), x);
  f = V::fma(n, V::all(-kLn2Low), f);
  auto y = V::all(kExp[0]);
#pragma GCC unroll 6
  for (int i = 1; i < 7; i++) y = V::fma(y, f, V::all(kExp[i]));
  return V::zero_below(x, kExpLeast, V::times_power(y, n));
}

// Scores become weights; returns what the sum of products has to be multiplied with. `broken`: some score is infinite
// or no number.
template <typename V>
float weigh_row(float* scores, std::int32_t panels, bool* broken) {
  auto most = V::all(-__builtin_inff());
  *broken = false;
  for (std::int32_t p = 0; p < panels; p++) {
    const auto s = V::load(scores + p * kPanelCells);
    *broken |= V::any_not_below_infinity(s);
    most = V::max(most, s);
  }
  const auto top = V::all(V::largest(most));
  typename V::Sum sum;
  for (std::int32_t p = 0; p < panels; p++) {
    float* const at = scores + p * kPanelCells;
    const auto weight = exponential<V>(V::sub(V::load(at), top));
    V::store(at, weight);
    sum.add(weight);
  }
  return inverse_of(sum.low(), sum.high());
}

template <typename V, int kRows, int kVectors>
void out_tile(const AttentionBlock& block, const float* weights, std::int32_t row, std::int32_t from,
              const float* inverses) {
  typename V::Floats sums[kRows][kVectors];
#pragma GCC unroll 6
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v++) sums[i][v] = V::all(0);
  }
  const std::size_t stride = block.value_stride / sizeof(Half);
  const std::ptrdiff_t row_stride = static_cast<std::ptrdiff_t>(block.panel_count) * kPanelCells;
  for (std::int32_t p = 0; p < block.panel_count; p++) {
    const Half* cell = block.values + static_cast<std::size_t>(block.panels[p]) * kPanelCells * stride + from;
    const float* weight = weights + row * row_stride + p * kPanelCells;
    for (std::int32_t j = 0; j < kPanelCells; j++, cell += stride, weight++) {
      typename V::Floats values[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; v++) values[v] = V::halves(cell + v * 16);
#pragma GCC unroll 6
      for (int i = 0; i < kRows; i++) {
        const auto w = V::broadcast(weight + i * row_stride);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; v++) V::add_product(sums[i][v], w, values[v]);
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v++)
      V::store_anywhere(block.out[row + i] + from + v * 16, V::mul(sums[i][v], V::all(inverses[row + i])));
  }
}

template <typename V, int kRows>
void out_rows(const AttentionBlock& block, const float* weights, std::int32_t row, const float* inverses) {
  std::int32_t from = 0;
  for (; from + V::kOutVectors * 16 <= block.depth; from += V::kOutVectors * 16)
    out_tile<V, kRows, V::kOutVectors>(block, weights, row, from, inverses);
  for (; from < block.depth; from += 16) out_tile<V, kRows, 1>(block, weights, row, from, inverses);
}

// kMost rows at a time, and what is left by a product that is as high.
template <typename V, int kMost>
void score_all(const AttentionBlock& block, const float* queries, std::int32_t row, float* scores) {
  for (; row + kMost <= block.rows; row += kMost) score_rows<V, kMost>(block, queries, row, scores);
  if constexpr (kMost > 1) score_all<V, kMost - 1>(block, queries, row, scores);
}

template <typename V, int kMost>
void out_all(const AttentionBlock& block, const float* weights, std::int32_t row, const float* inverses) {
  for (; row + kMost <= block.rows; row += kMost) out_rows<V, kMost>(block, weights, row, inverses);
  if constexpr (kMost > 1) out_all<V, kMost - 1>(block, weights, row, inverses);
}

template <typename V>
void attend(const AttentionBlock& block) {
  float* const scores = block.scratch;
  const std::ptrdiff_t row_scores = static_cast<std::ptrdiff_t>(block.panel_count) * kPanelCells;
  float* const queries = scores + kAttentionRows * row_scores;
  const auto depth = static_cast<std::size_t>(block.depth);
  for (std::int32_t i = 0; i < block.rows; i++)
    __builtin_memcpy(queries + static_cast<std::size_t>(i) * depth, block.queries[i], depth * sizeof(float));
  score_all<V, V::kScoreRows>(block, queries, 0, scores);
  float inverses[kAttentionRows];
  bool broken[kAttentionRows];
  for (std::int32_t i = 0; i < block.rows; i++)
    inverses[i] = weigh_row<V>(scores + i * row_scores, block.panel_count, &broken[i]);
  out_all<V, V::kOutRows>(block, scores, 0, inverses);
  for (std::int32_t i = 0; i < block.rows; i++) {
    for (std::int32_t d = 0; broken[i] && d < block.depth; d++) block.out[i][d] = __builtin_nanf("");
  }
}

}  // namespace
}  // namespace assay::kernels
