#include "kernels/product.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

// Blocking. For one piece of columns (2 or 3 panels) and a chunk of rows the groups of the depth are the middle loop,
// so a block's weights (at most 256 deep: 12 KiB) lie in L1 while the chunk's rows pass, and the rows' sums stay in a
// strip of their own that lies in L1 or L2 (rows of `out` may be a multiple of 4 KiB apart and would push each other
// out).

namespace assay::kernels {
namespace {

constexpr std::int32_t kChunkRows = 96;
constexpr std::int32_t kPanelsMax = 4;

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t numbers(std::int64_t rows, std::int32_t count) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(count);
}

}  // namespace

std::size_t QuantisedRows::bytes(std::int64_t rows, std::int32_t depth, std::int32_t group) {
  return rounded(numbers(rows, depth)) + 2 * rounded(numbers(rows, depth / group) * 4);
}

QuantisedRows QuantisedRows::in(std::int64_t rows, std::int32_t depth, std::int32_t group, std::byte* memory) {
  QuantisedRows out{.rows = static_cast<std::int32_t>(rows), .depth = depth, .group = group};
  out.values = reinterpret_cast<std::int8_t*>(memory);
  std::byte* const scales = memory + rounded(numbers(rows, depth));
  out.scales = reinterpret_cast<float*>(scales);
  out.offsets = reinterpret_cast<std::int32_t*>(scales + rounded(numbers(rows, depth / group) * 4));
  return out;
}

void quantise_row(const Unit& unit, const float* x, std::int32_t row, const QuantisedRows& into) {
  const std::size_t first_group = numbers(row, into.groups());
  unit.quantise(x, into.depth, into.group, into.values + numbers(row, into.depth), into.scales + first_group,
                into.offsets + first_group);
}

std::int64_t piece_count(const Unit& unit, const PackedShape& shape) {
  return (shape.panels() + unit.panels_max - 1) / unit.panels_max;
}

void multiply_piece(const Unit& unit, const PackedWeights& weights, const QuantisedRows& rows, std::int64_t piece,
                    float* out, std::size_t out_stride) {
  const PackedShape& shape = weights.shape;
  ASSAY_ASSERT(shape.depth == rows.depth && shape.group == rows.group && unit.panels_max <= kPanelsMax);
  alignas(64) float strip[kChunkRows * kPanelsMax * kPanelColumns];
  const std::int64_t panel = piece * unit.panels_max;
  const auto panels = static_cast<std::int32_t>(std::min<std::int64_t>(unit.panels_max, shape.panels() - panel));
  const std::int64_t column = panel * kPanelColumns;
  const auto columns =
      static_cast<std::size_t>(std::min<std::int64_t>(std::int64_t{panels} * kPanelColumns, shape.columns - column));
  Block block{.a_stride = static_cast<std::size_t>(rows.depth),
              .a_group_stride = static_cast<std::size_t>(rows.groups()),
              .w_stride = shape.panel_bytes(),
              .w_scale_stride = shape.panel_scales(),
              .sums = strip,
              .sums_stride = static_cast<std::size_t>(panels) * kPanelColumns,
              .panels = panels,
              .group = shape.group};
  const std::int32_t together = kGroupMax / shape.group;  // small groups go together
  for (std::int32_t row = 0; row < rows.rows; row += kChunkRows) {
    block.rows = std::min(kChunkRows, rows.rows - row);
    for (std::int32_t g = 0; g < shape.groups(); g += together) {
      block.groups = std::min(together, shape.groups() - g);
      block.a = rows.values + numbers(row, rows.depth) + numbers(g, shape.group);
      block.a_scales = rows.scales + numbers(row, rows.groups()) + g;
      block.a_offsets = rows.offsets + numbers(row, rows.groups()) + g;
      block.w = weights.values + static_cast<std::size_t>(panel) * shape.panel_bytes() +
                numbers(g, shape.group) * kPanelColumns;
      block.w_scales = weights.scales + static_cast<std::size_t>(panel) * shape.panel_scales() +
                       static_cast<std::size_t>(g) * kPanelColumns;
      if (weights.mins != nullptr) {
        block.w_mins = weights.mins + static_cast<std::size_t>(panel) * shape.panel_scales() +
                       static_cast<std::size_t>(g) * kPanelColumns;
      }
      block.first = g == 0;
      // Behind the last group comes the next piece, or the same one again for the next rows.
      const std::size_t depth_done = numbers(g, shape.group) * kPanelColumns;
      const std::size_t block_bytes = numbers(block.groups, shape.group) * kPanelColumns;
      const bool last = g + block.groups == shape.groups();
      block.w_ahead = last ? static_cast<std::size_t>(unit.panels_max) * shape.panel_bytes() - depth_done : block_bytes;
      unit.multiply(block);
    }
    for (std::int32_t i = 0; i < block.rows; i++) {
      std::memcpy(out + static_cast<std::size_t>(row + i) * out_stride + column,
                  strip + static_cast<std::size_t>(i) * block.sums_stride, columns * sizeof(float));
    }
  }
}

}  // namespace assay::kernels
