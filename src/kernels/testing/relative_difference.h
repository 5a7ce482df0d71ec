#pragma once
// How far numbers are from others, for tests.

#include <cmath>
#include <cstddef>
#include <vector>

namespace assay::kernels::testing {

// |a - b| / |b|, both as vectors. REQUIRES: as many of a as of b.
inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); i++) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    size += double{b[i]} * b[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace assay::kernels::testing
