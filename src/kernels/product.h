#pragma once
// Rows times packed weights, in blocks that stay in the core's caches.

#include <cstddef>
#include <cstdint>

#include "kernels/packed_weights.h"
#include "kernels/unit.h"

namespace assay::kernels {

// Quantised rows; does not own its memory.
struct QuantisedRows {
  std::int32_t rows = 0;
  std::int32_t depth = 0;
  std::int32_t group = 0;
  Width width = Width::kByte;
  std::int8_t* values = nullptr;           // [rows][depth]; words: int16
  float* scales = nullptr;                 // [rows][depth / group]
  std::int32_t* offsets = nullptr;         // the same; null for words
  const std::int32_t* out_rows = nullptr;  // [rows], the row of a product that each one's sums become; null: its own

  std::int32_t groups() const { return depth / group; }
  std::int16_t* words() const { return reinterpret_cast<std::int16_t*>(values); }
  // Some of them, one behind the other, as rows of their own.
  QuantisedRows part(std::int32_t first, std::int32_t count) const;
  // What rows for weights of this shape need, and their places in memory that is 64-byte aligned.
  static std::size_t bytes(std::int64_t rows, const PackedShape& shape);
  static QuantisedRows in(std::int64_t rows, const PackedShape& shape, std::byte* memory);
};

// Quantises row `row` of `into`.
void quantise_row(const Unit& unit, const float* x, std::int32_t row, const QuantisedRows& into);
// Makes row `to` what row `from` is.
void copy_row(const QuantisedRows& rows, std::int32_t from, std::int32_t to);

// Columns are handed out in pieces of unit.panels_max panels, so that threads share a product by any order of pieces.
std::int64_t piece_count(const Unit& unit, const PackedShape& shape);

// out[m * out_stride + n] for all rows m (or what `out_rows` has for them) and the columns n of one piece. `out_stride`
// in floats. REQUIRES: the same depth, group and width on both sides; unit.begin() was called on this thread.
void multiply_piece(const Unit& unit, const PackedWeights& weights, const QuantisedRows& rows, std::int64_t piece,
                    float* out, std::size_t out_stride);

}  // namespace assay::kernels
