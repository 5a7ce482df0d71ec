#pragma once
// A weight matrix as the units want it: integers of 8 or 16 bits in panels of 16 columns, one scale for each column and
// group.

#include <cstddef>
#include <cstdint>

#include "kernels/unit.h"

namespace assay::kernels {

// The largest divisor of `depth` that is at most `group_max` and a multiple of 32. REQUIRES: depth % 32 == 0, depth >
// 0.
std::int32_t group_for(std::int64_t depth, std::int32_t group_max);

struct PackedShape {
  std::int64_t columns = 0;  // rows of the weight tensor: outputs
  std::int32_t depth = 0;    // a multiple of group
  std::int32_t group = 0;
  // How weights become integers. Levels that the file's type has are met exactly by a multiple of their number.
  std::int32_t levels = 127;   // what a group's largest magnitude becomes; with mins, what its whole range becomes
  bool mins = false;           // each group has an offset: w = scale * q + min, q from -levels / 2 to levels / 2
  Width width = Width::kByte;  // words have groups of kWordGroup, kWeightLevels and no mins

  std::size_t value_bytes() const { return width == Width::kWord ? 2 : 1; }

  std::int64_t panels() const { return (columns + kPanelColumns - 1) / kPanelColumns; }
  std::int32_t groups() const { return depth / group; }
  std::size_t panel_bytes() const { return static_cast<std::size_t>(depth) * kPanelColumns * value_bytes(); }
  std::size_t panel_scales() const { return static_cast<std::size_t>(groups()) * kPanelColumns; }
  // Values, scales, mins, each panel's beginning at a multiple of 64 bytes.
  std::size_t bytes() const {
    return static_cast<std::size_t>(panels()) * (panel_bytes() + panel_scales() * sizeof(float) * (mins ? 2 : 1));
  }
};

// Does not own its memory.
struct PackedWeights {
  PackedShape shape;
  std::uint8_t* values = nullptr;  // [panels][depth / 4][16][4], weight + 128; words: [panels][depth / 2][16][2] int16
  float* scales = nullptr;         // [panels][groups][16]
  float* mins = nullptr;           // the same, min / -128; null without mins

  std::int16_t* words() const { return reinterpret_cast<std::int16_t*>(values); }

  // REQUIRES: memory of shape.bytes(), 64-byte aligned, that outlives the result.
  static PackedWeights in(const PackedShape& shape, std::byte* memory);
};

// Packs `groups` groups of panel `panel`, from `group` on, out of `rows` (1..16) float rows that are `stride` floats
// apart and begin with that group; columns that are missing become zeros.
void pack_groups(const float* weights, std::size_t stride, std::int32_t rows, const PackedWeights& into,
                 std::int64_t panel, std::int32_t group, std::int32_t groups);
// All groups of a panel, out of rows of `depth` numbers.
void pack_panel(const float* weights, std::int32_t rows, const PackedWeights& into, std::int64_t panel);

}  // namespace assay::kernels
