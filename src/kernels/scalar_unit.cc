#include <bit>
#include <cmath>
#include <limits>

#include "kernels/quantise_rules.h"
#include "kernels/unit.h"

// The reference: what all other units are compared with.

namespace assay::kernels {
namespace {

std::uint32_t largest_magnitude(const float* x, std::int32_t count) {
  std::uint32_t most = 0;
  for (std::int32_t k = 0; k < count; k++) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[k]) & kMagnitudeBits;
    most = bits > most ? bits : most;
  }
  return most;
}

void quantise(const float* x, std::int32_t depth, std::int32_t group, std::int8_t* values, float* scales,
              std::int32_t* offsets) {
  for (std::int32_t from = 0; from < depth; from += group, scales++, offsets++) {
    const GroupScale scale = scale_of(largest_magnitude(x + from, group));
    *scales = scale.step;
    std::int32_t sum = 0;
    for (std::int32_t k = from; k < from + group; k++) {
      const auto value = scale.inverse == 0 ? 0 : static_cast<std::int32_t>(std::nearbyint(x[k] * scale.inverse));
      values[k] = static_cast<std::int8_t>(value);
      sum += value;
    }
    *offsets = -128 * sum;
  }
}

std::int32_t dot(const std::int8_t* a, const std::uint8_t* w, std::int32_t group) {
  std::int32_t sum = 0;
  for (std::int32_t k = 0; k < group; k++) {
    const std::size_t place = static_cast<std::size_t>(k / 4) * 4 * kPanelColumns + static_cast<std::size_t>(k % 4);
    sum += std::int32_t{a[k]} * (std::int32_t{w[place]} - 128);
  }
  return sum;
}

void multiply_group(const Block& block) {
  for (std::int32_t m = 0; m < block.rows; m++) {
    const auto row = static_cast<std::size_t>(m);
    float* const sums = block.sums + row * block.sums_stride;
    for (std::int32_t n = 0; n < block.panels * kPanelColumns; n++) {
      const auto panel = static_cast<std::size_t>(n / kPanelColumns);
      const auto column = static_cast<std::size_t>(n % kPanelColumns);
      const std::int32_t product =
          dot(block.a + row * block.a_stride, block.w + panel * block.w_stride + column * 4, block.group);
      const float a_scale = block.a_scales[row * block.a_group_stride];
      const std::size_t place = panel * block.w_scale_stride + column;
      sums[n] = std::fma(static_cast<float>(product), a_scale * block.w_scales[place], block.first ? 0.0F : sums[n]);
      if (block.w_mins == nullptr) continue;
      const auto offset = static_cast<float>(block.a_offsets[row * block.a_group_stride]);
      sums[n] = std::fma(a_scale * offset, block.w_mins[place], sums[n]);
    }
  }
}

void multiply(const Block& block) {
  for (std::int32_t g = 0; g < block.groups; g++) multiply_group(group_of(block, g));
}

void quantise_words(const float* x, std::int32_t depth, std::int16_t* values, float* scales) {
  for (std::int32_t from = 0; from < depth; from += kWordGroup, scales++) {
    const GroupScale scale = scale_of(largest_magnitude(x + from, kWordGroup), kRowLevels);
    *scales = scale.step;
    for (std::int32_t k = from; k < from + kWordGroup; k++)
      values[k] = static_cast<std::int16_t>(scale.inverse == 0 ? 0.0F : std::nearbyint(x[k] * scale.inverse));
  }
}

std::int32_t word_dot(const std::int16_t* a, const std::int16_t* w) {
  std::int32_t sum = 0;
  for (std::int32_t k = 0; k < kWordGroup; k++) {
    const std::size_t place = static_cast<std::size_t>(k / 2) * 2 * kPanelColumns + static_cast<std::size_t>(k % 2);
    sum += std::int32_t{a[k]} * std::int32_t{w[place]};
  }
  return sum;
}

void multiply_words(const WordBlock& block) {
  for (std::int32_t m = 0; m < block.rows; m++) {
    const auto row = static_cast<std::size_t>(m);
    for (std::int32_t n = 0; n < block.panels * kPanelColumns; n++) {
      const auto panel = static_cast<std::size_t>(n / kPanelColumns);
      const auto column = static_cast<std::size_t>(n % kPanelColumns);
      const std::int16_t* a = block.a + row * block.a_stride;
      const std::int16_t* w = block.w + panel * block.w_stride + column * 2;
      const float* const a_scales = block.a_scales + row * block.a_group_stride;
      const float* const w_scales = block.w_scales + panel * block.w_scale_stride + column;
      float& sum = block.sums[row * block.sums_stride + static_cast<std::size_t>(n)];
      if (block.first) sum = 0;
      for (std::int32_t g = 0; g < block.groups; g++, a += kWordGroup, w += kWordGroup * kPanelColumns)
        sum = std::fma(static_cast<float>(word_dot(a, w)), a_scales[g] * w_scales[g * kPanelColumns], sum);
    }
  }
}

constexpr Unit kScalar{.name = "scalar",
                       .panels_max = 1,
                       .quantise = quantise,
                       .multiply = multiply,
                       .quantise_words = quantise_words,
                       .multiply_words = multiply_words};

}  // namespace

const Unit& scalar_unit() { return kScalar; }

}  // namespace assay::kernels
