#pragma once
// Numbers that all attention units share.

#include <cstdint>

namespace assay::kernels {

// exp(x) for x <= 0: x = n ln 2 + f with |f| <= ln 2 / 2; a polynomial of degree 6 for exp(f), times 2^n. Below
// kExpLeast the result is 0.
inline constexpr float kExpLeast = -87.0F;
inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2High = 0.693359375F;  // few bits, so that n times it is exact
inline constexpr float kLn2Low = -2.12194440e-4F;
inline constexpr float kExp[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F};  // highest power first

// The sum of weights is counted in units of 2^-30, its low 15 bits and the rest apart, so that 32 bits of four lanes
// or more hold both for 65,536 cells.
inline constexpr float kSumScale = 1073741824.0F;
inline constexpr std::int32_t kSumLowBits = 15;
inline constexpr std::int32_t kSumLowMask = (1 << kSumLowBits) - 1;

// 1 / sum, or 0 for a row that sees nothing.
inline float inverse_of(std::int64_t low, std::int64_t high) {
  const double sum = (static_cast<double>(high) * 32768.0 + static_cast<double>(low)) / 1073741824.0;
  return sum > 0 ? static_cast<float>(1.0 / sum) : 0.0F;
}

}  // namespace assay::kernels
