#include "kernels/packed_weights.h"

#include <cstring>

#include "base/assert.h"

namespace assay::kernels {
namespace {

constexpr std::uint8_t kZero = 128;

// One column's quantised values into its places of the panel: four of each 64 bytes.
void scatter(const std::int8_t* values, std::int32_t depth, std::int32_t column, std::uint8_t* panel) {
  for (std::int32_t k = 0; k < depth; k += 4) {
    std::uint8_t* const to = panel + static_cast<std::size_t>(k) * kPanelColumns + column * 4;
    std::uint32_t four = 0;
    std::memcpy(&four, values + k, 4);
    four ^= 0x80808080U;  // + 128 in each byte
    std::memcpy(to, &four, 4);
  }
}

}  // namespace

std::int32_t group_for(std::int64_t depth, std::int32_t group_max) {
  ASSAY_ASSERT(depth > 0 && depth % kDepthStep == 0 && group_max >= kDepthStep);
  std::int32_t group = group_max / kDepthStep * kDepthStep;
  while (depth % group != 0) group -= kDepthStep;
  return group;
}

PackedWeights PackedWeights::in(const PackedShape& shape, std::byte* memory) {
  PackedWeights weights{.shape = shape, .values = reinterpret_cast<std::uint8_t*>(memory)};
  weights.scales = reinterpret_cast<float*>(memory + static_cast<std::size_t>(shape.panels()) * shape.panel_bytes());
  return weights;
}

void pack_panel(const float* weights, std::int32_t rows, const PackedShape& shape, std::uint8_t* values,
                float* scales) {
  ASSAY_ASSERT(rows > 0 && rows <= kPanelColumns);
  constexpr std::int32_t kChunk = 4096;
  // A depth may be long: quantised group by group through a buffer on the stack.
  alignas(64) std::int8_t quantised[kChunk];
  float group_scales[kChunk / kDepthStep];
  std::int32_t offsets[kChunk / kDepthStep];
  const Unit& unit = chosen_unit();
  const std::int32_t piece = kChunk / shape.group * shape.group;
  if (rows < kPanelColumns) {
    std::memset(values, kZero, shape.panel_bytes());
    std::memset(scales, 0, shape.panel_scales() * sizeof(float));
  }
  for (std::int32_t column = 0; column < rows; column++) {
    const float* const row = weights + static_cast<std::size_t>(column) * static_cast<std::size_t>(shape.depth);
    for (std::int32_t from = 0; from < shape.depth; from += piece) {
      const std::int32_t length = shape.depth - from < piece ? shape.depth - from : piece;
      unit.quantise(row + from, length, shape.group, quantised, group_scales, offsets);
      scatter(quantised, length, column, values + static_cast<std::size_t>(from) * kPanelColumns);
      for (std::int32_t g = 0; g < length / shape.group; g++) {
        scales[static_cast<std::size_t>(from / shape.group + g) * kPanelColumns + static_cast<std::size_t>(column)] =
            group_scales[g];
      }
    }
  }
}

}  // namespace assay::kernels
