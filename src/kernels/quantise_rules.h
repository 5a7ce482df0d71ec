#pragma once
// How a group's scale follows from its largest magnitude; shared by all units, so that they agree to the bit.

#include <cstdint>

namespace assay::kernels {

inline constexpr std::uint32_t kMagnitudeBits = 0x7fffffffU;  // of a float, without its sign
inline constexpr std::uint32_t kInfinityBits = 0x7f800000U;
inline constexpr std::uint32_t kLeastBits = 0x0d800000U;  // 2^-100: below it a group counts as zeros

struct GroupScale {
  float step;     // what one unit of the integers stands for
  float inverse;  // 0 where all of them become 0
};

// `most`: the largest of the group's magnitudes, as the bits of a float (their order is that of the numbers; a number
// that is none is above infinity). `levels`: the integer that it becomes.
inline GroupScale scale_of(std::uint32_t most, float levels = 127.0F) {
  if (most >= kInfinityBits) return {__builtin_nanf(""), 0.0F};
  if (most < kLeastBits) return {0.0F, 0.0F};
  float magnitude = 0;
  __builtin_memcpy(&magnitude, &most, sizeof magnitude);
  return {magnitude / levels, levels / magnitude};
}

}  // namespace assay::kernels
