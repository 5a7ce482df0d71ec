#pragma once
// The body of pack_groups.h's functions; included by one file for each instruction set, so no standard templates here.
// All of it is per element or a minimum of integers, so how the compiler vectorises it changes no bit.

#include "kernels/pack_groups.h"
#include "kernels/quantise_rules.h"
#include "kernels/unit.h"

namespace assay::kernels {
namespace {

struct Steps {
  float scale = 0;
  float min = 0;
};

inline std::int32_t bits_of(float x) { return __builtin_bit_cast(std::int32_t, x); }
inline float float_of(std::int32_t bits) { return __builtin_bit_cast(float, bits); }

// To the nearest integer, ties to even, for magnitudes below 2^22; vectorises where nearbyint() is a call.
inline std::int32_t nearest(float x) {
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23
  return bits_of(x + kMagic) - bits_of(kMagic);
}

// An integer that orders floats as they are ordered, and back: the compiler takes the least of integers side by side,
// of floats one after another.
inline std::int32_t order_of(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

inline std::uint32_t largest_magnitude(const float* x, std::int32_t count) {
  std::uint32_t most = 0;
  for (std::int32_t i = 0; i < count; i++) {
    const std::uint32_t bits = static_cast<std::uint32_t>(bits_of(x[i])) & kMagnitudeBits;
    most = bits > most ? bits : most;
  }
  return most;
}

inline Steps quantise_with_min(const float* x, const PackJob& job, std::int8_t* values) {
  std::int32_t least = 0x7fffffff;
  std::int32_t most = -0x7fffffff - 1;
  for (std::int32_t i = 0; i < job.group; i++) {
    const std::int32_t order = order_of(bits_of(x[i]));
    least = order < least ? order : least;
    most = order > most ? order : most;
  }
  const float low = float_of(order_of(least));
  const float high = float_of(order_of(most));
  const float middle = (low + high) / 2;
  const auto levels = static_cast<float>(job.levels);
  const GroupScale whole = scale_of(static_cast<std::uint32_t>(bits_of(high - low)));
  const float inverse = whole.inverse == 0 ? 0.0F : levels / (high - low);
  for (std::int32_t i = 0; i < job.group; i++) values[i] = static_cast<std::int8_t>(nearest((x[i] - middle) * inverse));
  return {.scale = whole.inverse == 0 ? 0.0F : (high - low) / levels, .min = middle};
}

inline Steps quantise_group(const float* x, const PackJob& job, std::int8_t* values) {
  const std::uint32_t most = largest_magnitude(x, job.group);
  const GroupScale scale = scale_of(most);
  if (scale.inverse == 0) {  // zeros, or numbers that are none: then the scale is none either
    __builtin_memset(values, 0, static_cast<std::size_t>(job.group));
    return {.scale = scale.step};
  }
  if (job.mins != nullptr) return quantise_with_min(x, job, values);
  const float magnitude = float_of(static_cast<std::int32_t>(most));
  const auto levels = static_cast<float>(job.levels);
  const float inverse = levels / magnitude;
  for (std::int32_t i = 0; i < job.group; i++) values[i] = static_cast<std::int8_t>(nearest(x[i] * inverse));
  return {.scale = magnitude / levels};
}

typedef std::uint32_t Four __attribute__((vector_size(16)));

constexpr std::uint32_t kPlus128 = 0x80808080U;  // in each byte, by exclusive or

template <std::uint32_t kFlip>
inline Four load_four(const std::int8_t* from) {
  Four four;
  __builtin_memcpy(&four, from, sizeof four);
  return four ^ kFlip;
}

// Four columns' values into their places of a group of a panel, 16 bytes of each at a time.
template <std::uint32_t kFlip>
inline void scatter_four(const std::int8_t* values, std::int32_t bytes, std::uint8_t* to) {
  constexpr std::size_t kLine = std::size_t{4} * kPanelColumns;
  for (std::int32_t k = 0; k < bytes; k += 16, values += 16, to += 4 * kLine) {
    const Four a = load_four<kFlip>(values);
    const Four b = load_four<kFlip>(values + kGroupMax);
    const Four c = load_four<kFlip>(values + 2 * kGroupMax);
    const Four d = load_four<kFlip>(values + 3 * kGroupMax);
    const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const Four lines[4] = {
        __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
    for (int i = 0; i < 4; i++) __builtin_memcpy(to + static_cast<std::size_t>(i) * kLine, &lines[i], sizeof(Four));
  }
}

inline float quantise_words(const float* x, const PackJob& job, std::int16_t* words) {
  const GroupScale scale = scale_of(largest_magnitude(x, kWordGroup), static_cast<float>(job.levels));
  if (scale.inverse == 0) {
    __builtin_memset(words, 0, kWordGroup * sizeof(std::int16_t));
    return scale.step;
  }
  for (std::int32_t i = 0; i < kWordGroup; i++) words[i] = static_cast<std::int16_t>(nearest(x[i] * scale.inverse));
  return scale.step;
}

inline void pack_words_here(const PackJob& job) {
  constexpr std::size_t kGroupBytes = kWordGroup * sizeof(std::int16_t);
  alignas(64) std::int8_t values[kPanelColumns * kGroupMax];  // a group of a column fills a part of its place
  for (std::int32_t g = 0; g < job.groups; g++) {
    const std::size_t begin = static_cast<std::size_t>(g) * kWordGroup;
    for (std::int32_t column = 0; column < kPanelColumns; column++) {
      alignas(64) std::int16_t words[kWordGroup] = {};
      float scale = 0;
      if (column < job.rows)
        scale = quantise_words(job.weights + static_cast<std::size_t>(column) * job.weights_stride + begin, job, words);
      job.scales[g * kPanelColumns + column] = scale;
      __builtin_memcpy(values + column * kGroupMax, words, kGroupBytes);
    }
    std::uint8_t* const to = job.values + static_cast<std::size_t>(g) * kGroupBytes * kPanelColumns;
    for (std::int32_t column = 0; column < kPanelColumns; column += 4)
      scatter_four<0>(values + column * kGroupMax, kGroupBytes, to + column * 4);
  }
}

inline void pack_groups_here(const PackJob& job) {
  if (job.width == Width::kWord) {
    pack_words_here(job);
    return;
  }
  alignas(64) std::int8_t values[kPanelColumns * kGroupMax];
  for (std::int32_t g = 0; g < job.groups; g++) {
    const std::size_t begin = static_cast<std::size_t>(g) * static_cast<std::size_t>(job.group);
    float* const scales = job.scales + g * kPanelColumns;
    float* const mins = job.mins == nullptr ? nullptr : job.mins + g * kPanelColumns;
    for (std::int32_t column = 0; column < kPanelColumns; column++) {
      std::int8_t* const to = values + column * kGroupMax;
      Steps steps;
      if (column < job.rows) {
        steps = quantise_group(job.weights + static_cast<std::size_t>(column) * job.weights_stride + begin, job, to);
      } else {
        __builtin_memset(to, 0, static_cast<std::size_t>(job.group));
      }
      scales[column] = steps.scale;
      if (mins != nullptr) mins[column] = steps.min * (-1.0F / 128.0F);
    }
    for (std::int32_t column = 0; column < kPanelColumns; column += 4)
      scatter_four<kPlus128>(values + column * kGroupMax, job.group, job.values + begin * kPanelColumns + column * 4);
  }
}

}  // namespace
}  // namespace assay::kernels
