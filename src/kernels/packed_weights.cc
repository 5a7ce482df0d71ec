#include "kernels/packed_weights.h"

#include "base/assert.h"
#include "kernels/pack_groups.h"

namespace assay::kernels {
std::int32_t group_for(std::int64_t depth, std::int32_t group_max) {
  ASSAY_ASSERT(depth > 0 && depth % kDepthStep == 0 && group_max >= kDepthStep);
  std::int32_t group = group_max / kDepthStep * kDepthStep;
  while (depth % group != 0) group -= kDepthStep;
  return group;
}

PackedWeights PackedWeights::in(const PackedShape& shape, std::byte* memory) {
  PackedWeights weights{.shape = shape, .values = reinterpret_cast<std::uint8_t*>(memory)};
  weights.scales = reinterpret_cast<float*>(memory + static_cast<std::size_t>(shape.panels()) * shape.panel_bytes());
  if (shape.mins) weights.mins = weights.scales + static_cast<std::size_t>(shape.panels()) * shape.panel_scales();
  return weights;
}

void pack_groups(const float* weights, std::size_t stride, std::int32_t rows, const PackedWeights& into,
                 std::int64_t panel, std::int32_t group, std::int32_t groups) {
  const PackedShape& shape = into.shape;
  ASSAY_ASSERT(rows > 0 && rows <= kPanelColumns && group >= 0 && groups > 0 && group + groups <= shape.groups());
  const std::size_t first_scale =
      static_cast<std::size_t>(panel) * shape.panel_scales() + static_cast<std::size_t>(group) * kPanelColumns;
  const auto first_value =
      static_cast<std::size_t>(panel) * shape.panel_bytes() +
      static_cast<std::size_t>(group) * static_cast<std::size_t>(shape.group) * kPanelColumns * shape.value_bytes();
  chosen_pack_groups()({.weights = weights,
                        .weights_stride = stride,
                        .rows = rows,
                        .group = shape.group,
                        .groups = groups,
                        .levels = shape.levels,
                        .width = shape.width,
                        .values = into.values + first_value,
                        .scales = into.scales + first_scale,
                        .mins = into.mins == nullptr ? nullptr : into.mins + first_scale});
}

void pack_panel(const float* weights, std::int32_t rows, const PackedWeights& into, std::int64_t panel) {
  pack_groups(weights, static_cast<std::size_t>(into.shape.depth), rows, into, panel, 0, into.shape.groups());
}

}  // namespace assay::kernels
