#pragma once
// The arithmetic of packing, once for each instruction set: which one runs changes the time and no byte.

#include <cstddef>
#include <cstdint>

#include "kernels/unit.h"

namespace assay::kernels {

// Some groups of one panel, one after another.
struct PackJob {
  const float* weights = nullptr;  // [rows][weights_stride], from the first group on
  std::size_t weights_stride = 0;  // floats from row to row
  std::int32_t rows = 0;           // 1..16; columns that are missing become zeros
  std::int32_t group = 0;          // a multiple of 32, at most 256
  std::int32_t groups = 0;         // how many
  std::int32_t levels = 0;         // as in PackedShape
  Width width = Width::kByte;
  std::uint8_t* values = nullptr;  // [groups][group / 4][16][4]; words: [groups][group / 2][16][2] int16
  float* scales = nullptr;         // [groups][16]
  float* mins = nullptr;           // the same; null for weights without an offset
};
using PackGroups = void (*)(const PackJob& job);

void pack_groups_plain(const PackJob& job);
// Null where this program or this CPU lacks it.
PackGroups avx2_pack_groups();
PackGroups avx512_pack_groups();

// The fastest that works here.
PackGroups chosen_pack_groups();

}  // namespace assay::kernels
