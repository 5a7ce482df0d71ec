#include "kernels/packed_weights.h"

#include <bit>
#include <cstring>
#include <limits>

#include "base/assert.h"
#include "kernels/quantise_rules.h"

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

struct Steps {
  float scale = 0;
  float min = 0;
};

// To the nearest integer, ties to even, for magnitudes below 2^22; vectorises where nearbyint() is a call.
std::int32_t nearest(float x) {
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23
  return std::bit_cast<std::int32_t>(x + kMagic) - std::bit_cast<std::int32_t>(kMagic);
}

std::uint32_t largest_magnitude(const float* x, std::int32_t count) {
  std::uint32_t most = 0;
  for (std::int32_t i = 0; i < count; i++) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[i]) & kMagnitudeBits;
    most = bits > most ? bits : most;
  }
  return most;
}

// An integer that orders floats as they are ordered, and back: the compiler takes the least of integers side by side,
// of floats one after another.
std::int32_t order_of(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

Steps quantise_with_min(const float* x, const PackedShape& shape, std::int8_t* values) {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  for (std::int32_t i = 0; i < shape.group; i++) {
    const std::int32_t order = order_of(std::bit_cast<std::int32_t>(x[i]));
    least = order < least ? order : least;
    most = order > most ? order : most;
  }
  const auto low = std::bit_cast<float>(order_of(least));
  const auto high = std::bit_cast<float>(order_of(most));
  const float middle = (low + high) / 2;
  const auto levels = static_cast<float>(shape.levels);
  const GroupScale whole = scale_of(std::bit_cast<std::uint32_t>(high - low));
  const float inverse = whole.inverse == 0 ? 0.0F : levels / (high - low);
  for (std::int32_t i = 0; i < shape.group; i++)
    values[i] = static_cast<std::int8_t>(nearest((x[i] - middle) * inverse));
  return {.scale = whole.inverse == 0 ? 0.0F : (high - low) / levels, .min = middle};
}

Steps quantise_group(const float* x, const PackedShape& shape, std::int8_t* values) {
  const std::uint32_t most = largest_magnitude(x, shape.group);
  const GroupScale scale = scale_of(most);
  if (scale.inverse == 0) {  // zeros, or numbers that are none: then the scale is none either
    std::memset(values, 0, static_cast<std::size_t>(shape.group));
    return {.scale = scale.step};
  }
  if (shape.mins) return quantise_with_min(x, shape, values);
  const auto magnitude = std::bit_cast<float>(most);
  const auto levels = static_cast<float>(shape.levels);
  const float inverse = levels / magnitude;
  for (std::int32_t i = 0; i < shape.group; i++) values[i] = static_cast<std::int8_t>(nearest(x[i] * inverse));
  return {.scale = magnitude / levels};
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
  if (shape.mins) weights.mins = weights.scales + static_cast<std::size_t>(shape.panels()) * shape.panel_scales();
  return weights;
}

void pack_panel(const float* weights, std::int32_t rows, const PackedWeights& into, std::int64_t panel) {
  ASSAY_ASSERT(rows > 0 && rows <= kPanelColumns);
  const PackedShape& shape = into.shape;
  std::uint8_t* const values = into.values + static_cast<std::size_t>(panel) * shape.panel_bytes();
  const std::size_t first_scale = static_cast<std::size_t>(panel) * shape.panel_scales();
  if (rows < kPanelColumns) {
    std::memset(values, kZero, shape.panel_bytes());
    std::memset(into.scales + first_scale, 0, shape.panel_scales() * sizeof(float));
    if (into.mins != nullptr) std::memset(into.mins + first_scale, 0, shape.panel_scales() * sizeof(float));
  }
  alignas(64) std::int8_t quantised[kGroupMax];
  for (std::int32_t column = 0; column < rows; column++) {
    const float* row = weights + static_cast<std::size_t>(column) * static_cast<std::size_t>(shape.depth);
    for (std::int32_t g = 0; g < shape.groups(); g++, row += shape.group) {
      const Steps steps = quantise_group(row, shape, quantised);
      scatter(quantised, shape.group, column,
              values + static_cast<std::size_t>(g) * static_cast<std::size_t>(shape.group) * kPanelColumns);
      const std::size_t place = first_scale + static_cast<std::size_t>(g * kPanelColumns + column);
      into.scales[place] = steps.scale;
      if (into.mins != nullptr) into.mins[place] = steps.min * (-1.0F / 128.0F);
    }
  }
}

}  // namespace assay::kernels
