#include "kernels/product.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

// Blocking. For one piece of columns (2 or 3 panels) and a chunk of rows the groups of the depth are the middle loop,
// so a block's weights (12 KiB) lie in L1 while the chunk's rows pass, and the rows' sums stay in a strip of their own
// that lies in L1 or L2 (rows of `out` may be a multiple of 4 KiB apart and would push each other out).

namespace assay::kernels {
namespace {

constexpr std::int32_t kChunkRows = 96;
constexpr std::int32_t kPanelsMax = 4;
constexpr std::int32_t kWordsTogether = 4;  // groups of words in a block

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t numbers(std::int64_t rows, std::int32_t count) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(count);
}

// The part of a product that is computed at a time, whatever the integers' width.
struct Piece {
  std::int64_t panel = 0;
  std::int32_t panels = 0;
  std::int32_t row = 0;
  std::int32_t rows = 0;
  float* strip = nullptr;  // [rows][panels * 16]

  std::size_t strip_stride() const { return static_cast<std::size_t>(panels) * kPanelColumns; }
};

// Bytes from a block's weights to those that the thread multiplies next. Behind the last group comes the next piece,
// or the same one again for the next rows.
std::size_t bytes_ahead(const Unit& unit, const PackedShape& shape, std::int32_t group, std::int32_t groups) {
  const std::size_t group_bytes = numbers(shape.group, kPanelColumns) * shape.value_bytes();
  if (group + groups < shape.groups()) return static_cast<std::size_t>(groups) * group_bytes;
  return static_cast<std::size_t>(unit.panels_max) * shape.panel_bytes() -
         static_cast<std::size_t>(group) * group_bytes;
}

void multiply_bytes(const Unit& unit, const PackedWeights& weights, const QuantisedRows& rows, const Piece& piece) {
  const PackedShape& shape = weights.shape;
  const auto panel = static_cast<std::size_t>(piece.panel);
  Block block{.a_stride = static_cast<std::size_t>(rows.depth),
              .a_group_stride = static_cast<std::size_t>(rows.groups()),
              .w_stride = shape.panel_bytes(),
              .w_scale_stride = shape.panel_scales(),
              .sums = piece.strip,
              .sums_stride = piece.strip_stride(),
              .rows = piece.rows,
              .panels = piece.panels,
              .group = shape.group};
  const std::int32_t together = kGroupMax / shape.group;  // small groups go together
  for (std::int32_t g = 0; g < shape.groups(); g += together) {
    const std::size_t scale = panel * shape.panel_scales() + static_cast<std::size_t>(g) * kPanelColumns;
    block.groups = std::min(together, shape.groups() - g);
    block.a = rows.values + numbers(piece.row, rows.depth) + numbers(g, shape.group);
    block.a_scales = rows.scales + numbers(piece.row, rows.groups()) + g;
    block.a_offsets = rows.offsets + numbers(piece.row, rows.groups()) + g;
    block.w = weights.values + panel * shape.panel_bytes() + numbers(g, shape.group) * kPanelColumns;
    block.w_scales = weights.scales + scale;
    if (weights.mins != nullptr) block.w_mins = weights.mins + scale;
    block.first = g == 0;
    block.w_ahead = bytes_ahead(unit, shape, g, block.groups);
    unit.multiply(block);
  }
}

void multiply_words(const Unit& unit, const PackedWeights& weights, const QuantisedRows& rows, const Piece& piece) {
  const PackedShape& shape = weights.shape;
  const auto panel = static_cast<std::size_t>(piece.panel);
  const std::size_t panel_words = shape.panel_bytes() / sizeof(std::int16_t);
  WordBlock block{.a_stride = static_cast<std::size_t>(rows.depth),
                  .a_group_stride = static_cast<std::size_t>(rows.groups()),
                  .w_stride = panel_words,
                  .w_scale_stride = shape.panel_scales(),
                  .sums = piece.strip,
                  .sums_stride = piece.strip_stride(),
                  .rows = piece.rows,
                  .panels = piece.panels};
  for (std::int32_t g = 0; g < shape.groups(); g += kWordsTogether) {
    block.groups = std::min(kWordsTogether, shape.groups() - g);
    block.a = rows.words() + numbers(piece.row, rows.depth) + numbers(g, kWordGroup);
    block.a_scales = rows.scales + numbers(piece.row, rows.groups()) + g;
    block.w = weights.words() + panel * panel_words + numbers(g, kWordGroup) * kPanelColumns;
    block.w_scales = weights.scales + panel * shape.panel_scales() + static_cast<std::size_t>(g) * kPanelColumns;
    block.first = g == 0;
    block.w_ahead = bytes_ahead(unit, shape, g, block.groups) / sizeof(std::int16_t);
    unit.multiply_words(block);
  }
}

}  // namespace

std::size_t QuantisedRows::bytes(std::int64_t rows, const PackedShape& shape) {
  const std::size_t scales = rounded(numbers(rows, shape.groups()) * sizeof(float));
  const std::size_t values = rounded(numbers(rows, shape.depth) * shape.value_bytes());
  return values + (shape.width == Width::kWord ? 1 : 2) * scales;
}

QuantisedRows QuantisedRows::in(std::int64_t rows, const PackedShape& shape, std::byte* memory) {
  QuantisedRows out{
      .rows = static_cast<std::int32_t>(rows), .depth = shape.depth, .group = shape.group, .width = shape.width};
  out.values = reinterpret_cast<std::int8_t*>(memory);
  std::byte* const scales = memory + rounded(numbers(rows, shape.depth) * shape.value_bytes());
  out.scales = reinterpret_cast<float*>(scales);
  if (shape.width == Width::kByte) {
    out.offsets =
        reinterpret_cast<std::int32_t*>(scales + rounded(numbers(rows, shape.groups()) * sizeof(std::int32_t)));
  }
  return out;
}

QuantisedRows QuantisedRows::part(std::int32_t first, std::int32_t count) const {
  QuantisedRows some = *this;
  some.rows = count;
  some.values += numbers(first, depth) * (width == Width::kWord ? sizeof(std::int16_t) : 1);
  some.scales += numbers(first, groups());
  if (offsets != nullptr) some.offsets += numbers(first, groups());
  if (out_rows != nullptr) some.out_rows += first;
  return some;
}

void quantise_row(const Unit& unit, const float* x, std::int32_t row, const QuantisedRows& into) {
  const std::size_t first = numbers(row, into.depth);
  const std::size_t first_group = numbers(row, into.groups());
  if (into.width == Width::kWord) {
    unit.quantise_words(x, into.depth, into.words() + first, into.scales + first_group);
  } else {
    unit.quantise(x, into.depth, into.group, into.values + first, into.scales + first_group,
                  into.offsets + first_group);
  }
}

void copy_row(const QuantisedRows& rows, std::int32_t from, std::int32_t to) {
  const QuantisedRows source = rows.part(from, 1);
  const QuantisedRows target = rows.part(to, 1);
  const auto depth = static_cast<std::size_t>(rows.depth);
  const auto groups = static_cast<std::size_t>(rows.groups());
  std::memcpy(target.values, source.values, depth * (rows.width == Width::kWord ? sizeof(std::int16_t) : 1));
  std::memcpy(target.scales, source.scales, groups * sizeof(float));
  if (rows.offsets != nullptr) std::memcpy(target.offsets, source.offsets, groups * sizeof(std::int32_t));
}

std::int64_t piece_count(const Unit& unit, const PackedShape& shape) {
  return (shape.panels() + unit.panels_max - 1) / unit.panels_max;
}

void multiply_piece(const Unit& unit, const PackedWeights& weights, const QuantisedRows& rows, std::int64_t piece,
                    float* out, std::size_t out_stride) {
  const PackedShape& shape = weights.shape;
  ASSAY_ASSERT(shape.depth == rows.depth && shape.group == rows.group && shape.width == rows.width &&
               unit.panels_max <= kPanelsMax);
  alignas(64) float strip[kChunkRows * kPanelsMax * kPanelColumns];
  Piece part{.panel = piece * unit.panels_max, .strip = strip};
  part.panels = static_cast<std::int32_t>(std::min<std::int64_t>(unit.panels_max, shape.panels() - part.panel));
  const std::int64_t column = part.panel * kPanelColumns;
  const auto columns = static_cast<std::size_t>(
      std::min<std::int64_t>(std::int64_t{part.panels} * kPanelColumns, shape.columns - column));
  for (; part.row < rows.rows; part.row += kChunkRows) {
    part.rows = std::min(kChunkRows, rows.rows - part.row);
    (shape.width == Width::kWord ? multiply_words : multiply_bytes)(unit, weights, rows, part);
    for (std::int32_t i = 0; i < part.rows; i++) {
      const std::int32_t row = part.row + i;
      const std::int32_t out_row = rows.out_rows != nullptr ? rows.out_rows[row] : row;
      std::memcpy(out + static_cast<std::size_t>(out_row) * out_stride + column,
                  strip + static_cast<std::size_t>(i) * part.strip_stride(), columns * sizeof(float));
    }
  }
}

}  // namespace assay::kernels
