#include "teach/features.h"

#include <cmath>

#include "base/assert.h"

namespace assay::teach {

Standardisation standardisation(std::span<const float> x, std::size_t width, bool normalised) {
  ASSAY_ASSERT(width > 0 && !x.empty() && x.size() % width == 0);
  const std::size_t row_count = x.size() / width;
  const auto rows = static_cast<double>(row_count);
  std::vector<double> mean(width);
  for (std::size_t i = 0; i < x.size(); i++) mean[i % width] += static_cast<double>(x[i]) / rows;
  std::vector<double> variance(width);
  for (std::size_t i = 0; i < x.size(); i++) {
    const double away = static_cast<double>(x[i]) - mean[i % width];
    variance[i % width] += away * away / rows;
  }
  Standardisation out;
  out.normalised = normalised;
  for (std::size_t d = 0; d < width; d++) {
    const double deviation = std::sqrt(variance[d]);
    // What rounding leaves of a constant is no spread.
    const bool constant = deviation <= 1e-6 * std::abs(mean[d]) || deviation < 1e-30;
    out.mean.push_back(static_cast<float>(mean[d]));
    out.scale.push_back(constant ? 0.0F : static_cast<float>(1 / deviation));
  }
  return out;
}

std::vector<double> prepared(std::span<const float> x, const Standardisation& how) {
  const std::size_t width = how.mean.size();
  ASSAY_ASSERT(width > 0 && x.size() % width == 0);
  std::vector<double> out(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += width) {
    double squares = 0;
    for (std::size_t d = 0; d < width; d++) {
      const double z =
          (static_cast<double>(x[begin + d]) - static_cast<double>(how.mean[d])) * static_cast<double>(how.scale[d]);
      out[begin + d] = z;
      squares += z * z;
    }
    if (!how.normalised || squares <= 0) continue;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(width));
    for (std::size_t d = 0; d < width; d++) out[begin + d] *= factor;
  }
  return out;
}

}  // namespace assay::teach
