#include "kernels/ggml_shapes.h"

#include <ggml.h>

#include <algorithm>
#include <cstring>

#include "kernels/unpack_rows.h"

namespace assay::kernels {
namespace {

constexpr std::int32_t kSliceMax = 512;  // 16 rows of it as floats lie in the innermost cache

// How much of the depth is unpacked at a time: whole groups and whole blocks of ggml's, or all of it.
std::int32_t slice_of(const ggml_tensor& weights) {
  const PackedShape shape = shape_of(weights);
  const std::int32_t slice = std::min(shape.depth, kSliceMax / shape.group * shape.group);
  return slice % ggml_blck_size(weights.type) == 0 ? slice : shape.depth;
}

UnpackRow fastest_unpack(UnpackKind kind) {
  const UnpackRow wide = avx512_unpack(kind);
  return wide != nullptr ? wide : avx2_unpack(kind);
}

void copy_floats(const void* from, float* to, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

ggml_to_float_t unpacker_of(ggml_type type) {
  static const UnpackRow kQ4K = fastest_unpack(UnpackKind::kQ4K);
  static const UnpackRow kQ5K = fastest_unpack(UnpackKind::kQ5K);
  static const UnpackRow kQ6K = fastest_unpack(UnpackKind::kQ6K);
  static const UnpackRow kF16 = fastest_unpack(UnpackKind::kF16);
  static const UnpackRow kBf16 = fastest_unpack(UnpackKind::kBf16);
  const UnpackRow ours = type == GGML_TYPE_Q4_K   ? kQ4K
                         : type == GGML_TYPE_Q5_K ? kQ5K
                         : type == GGML_TYPE_Q6_K ? kQ6K
                         : type == GGML_TYPE_F16  ? kF16
                         : type == GGML_TYPE_BF16 ? kBf16
                         : type == GGML_TYPE_F32  ? copy_floats
                                                  : nullptr;
  return ours != nullptr ? ours : ggml_get_type_traits(type)->to_float;
}

}  // namespace

bool can_pack(const ggml_tensor& weights) {
  switch (weights.type) {
    case GGML_TYPE_Q4_0:
    case GGML_TYPE_Q4_1:
    case GGML_TYPE_Q5_0:
    case GGML_TYPE_Q5_1:
    case GGML_TYPE_Q8_0:
    case GGML_TYPE_Q2_K:
    case GGML_TYPE_Q3_K:
    case GGML_TYPE_Q4_K:
    case GGML_TYPE_Q5_K:
    case GGML_TYPE_Q6_K:
    case GGML_TYPE_IQ4_NL:
    case GGML_TYPE_IQ4_XS:
    case GGML_TYPE_MXFP4:
    case GGML_TYPE_F32:
    case GGML_TYPE_F16:
    case GGML_TYPE_BF16:
      break;
    default:
      return false;
  }
  return weights.op == GGML_OP_NONE && weights.ne[0] % kDepthStep == 0 && weights.ne[0] > 0 &&
         weights.ne[1] >= kPanelColumns && weights.ne[2] > 0 && weights.ne[3] == 1 && ggml_is_contiguous(&weights);
}

// Types with a scale for 32 weights: ggml rounds activations by 32 for them too, and their levels come out exactly,
// since a multiple of each lies within int8. Floats become words. The others have finer scales inside of 256 weights,
// and activations rounded by 256.
PackedShape shape_of(const ggml_tensor& weights) {
  PackedShape shape{.columns = weights.ne[1], .depth = static_cast<std::int32_t>(weights.ne[0])};
  std::int32_t group_max = 32;
  switch (weights.type) {
    case GGML_TYPE_Q4_0:   // -8 to 7
    case GGML_TYPE_MXFP4:  // multiples of a twelfth of the largest, or of a fraction of that
      shape.levels = 120;
      break;
    case GGML_TYPE_Q5_0:  // -16 to 15
      shape.levels = 112;
      break;
    case GGML_TYPE_Q4_1:  // 0 to 15, and an offset
      shape.levels = 240;
      shape.mins = true;
      break;
    case GGML_TYPE_Q5_1:  // 0 to 31, and an offset
      shape.levels = 248;
      shape.mins = true;
      break;
    case GGML_TYPE_Q8_0:
    case GGML_TYPE_IQ4_NL:
      break;
    case GGML_TYPE_F32:
    case GGML_TYPE_F16:
    case GGML_TYPE_BF16:
      shape.width = Width::kWord;
      shape.levels = kWeightLevels;
      group_max = kWordGroup;
      break;
    default:
      group_max = kGroupMax;
  }
  shape.group = group_for(weights.ne[0], group_max);
  return shape;
}

PackedShape stacked_shape(const ggml_tensor& weights) {
  PackedShape shape = shape_of(weights);
  if (weights.ne[2] > 1) shape.columns = weights.ne[2] * shape.panels() * kPanelColumns;
  return shape;
}

PackedWeights expert_of(const PackedWeights& stack, const ggml_tensor& weights, std::int64_t expert) {
  PackedWeights one = stack;
  one.shape = shape_of(weights);
  const auto panel = static_cast<std::size_t>(expert * one.shape.panels());
  one.values += panel * one.shape.panel_bytes();
  one.scales += panel * one.shape.panel_scales();
  if (one.mins != nullptr) one.mins += panel * one.shape.panel_scales();
  return one;
}

std::size_t slice_floats(const ggml_tensor& weights) {
  return static_cast<std::size_t>(slice_of(weights)) * kPanelColumns;
}

void pack_panels(const ggml_tensor& weights, std::int64_t panel, std::int64_t panels, const PackedWeights& into,
                 std::int64_t into_panel, float* floats) {
  const ggml_to_float_t to_floats = unpacker_of(weights.type);
  const std::int32_t depth = into.shape.depth;
  const std::int32_t slice = slice_of(weights);
  const std::int64_t panels_each = shape_of(weights).panels();
  for (std::int64_t p = 0; p < panels; p++) {
    const std::int64_t expert = (panel + p) / panels_each;
    const std::int64_t column = (panel + p) % panels_each * kPanelColumns;
    const auto columns = static_cast<std::int32_t>(std::min<std::int64_t>(kPanelColumns, weights.ne[1] - column));
    const auto* const rows = static_cast<const std::byte*>(weights.data) +
                             static_cast<std::size_t>(expert) * weights.nb[2] +
                             static_cast<std::size_t>(column) * weights.nb[1];
    for (std::int32_t begin = 0; begin < depth; begin += slice) {
      const std::int32_t count = std::min(slice, depth - begin);
      const std::size_t at = ggml_row_size(weights.type, begin);
      for (std::int32_t i = 0; i < columns; i++)
        to_floats(rows + static_cast<std::size_t>(i) * weights.nb[1] + at, floats + std::ptrdiff_t{i} * slice, count);
      pack_groups(floats, static_cast<std::size_t>(slice), columns, into, into_panel + p, begin / into.shape.group,
                  count / into.shape.group);
    }
  }
}

}  // namespace assay::kernels
