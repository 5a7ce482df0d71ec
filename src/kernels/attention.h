#pragma once
// Attention of many rows over cells of a key-value cache, in float, with half-precision keys and values.
//
// What is computed, to the bit, for a row with query q (all units agree):
//     s[j]  = scale * dot(q, k[j]) + mask[j]      the dot by fma over the depth in order
//     p[j]  = exp(s[j] - max)                     by one polynomial, spelt in fma
//     sum   = of p[j] in whole 2^-30ths           exact, so in any order
//     out   = (over j in order: out = fma(p[j], v[j], out)) / sum
// A cell that the row does not see has p = 0 and adds exactly nothing (as long as it holds numbers). So a row's bits
// depend on what it sees and on its cells' order only: not on where they lie, on foreign cells between, or on the rows
// beside it. Cells are taken in panels of 16, and panels that no row of a block sees are left out.

#include <cstddef>
#include <cstdint>

namespace assay::kernels {

inline constexpr std::int32_t kPanelCells = 16;
inline constexpr std::int32_t kAttentionRows = 48;  // most rows of a block
inline constexpr std::int32_t kAttentionCellsMax = 65536;
inline constexpr std::int32_t kAttentionDepthMax = 256;  // of a head; a multiple of 16

using Half = std::uint16_t;  // IEEE half precision

// Rows that share a key-value head.
struct AttentionBlock {
  const float* queries[kAttentionRows] = {};
  const Half* masks[kAttentionRows] = {};  // [cells]: 0 or minus infinity, or any number to add
  float* out[kAttentionRows] = {};
  std::int32_t rows = 0;
  std::int32_t depth = 0;
  float scale = 1;
  const float* keys = nullptr;  // [panels of the cache][depth][16], by pack_keys
  const Half* values = nullptr;
  std::size_t value_stride = 0;          // bytes from cell to cell
  const std::int32_t* panels = nullptr;  // those that some row sees, ascending
  std::int32_t panel_count = 0;
  float* scratch = nullptr;  // attention_scratch() floats, 64-byte aligned
};

std::size_t attention_scratch(std::int32_t panel_count, std::int32_t depth);

struct AttentionUnit {
  const char* name;
  // 16 cells into [depth][16] floats, 64-byte aligned.
  void (*pack_keys)(const Half* keys, std::size_t stride_bytes, std::int32_t depth, float* panel);
  void (*attend)(const AttentionBlock& block);
};

const AttentionUnit& scalar_attention();
// Null where this program or this CPU lacks it.
const AttentionUnit* avx512_attention();
const AttentionUnit* avx2_attention();
const AttentionUnit* neon_attention();
// The best one that is worth it, or null: then attention stays with ggml.
const AttentionUnit* chosen_attention();

}  // namespace assay::kernels
