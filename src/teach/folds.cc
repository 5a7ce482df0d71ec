#include "teach/folds.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace assay::teach {

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

std::size_t Random::below(std::size_t bound) {
  ASSAY_ASSERT(bound > 0);
  // The last, incomplete run of `bound` numbers is drawn again.
  const std::uint64_t reject_from = ~std::uint64_t{0} - ~std::uint64_t{0} % bound;
  std::uint64_t drawn = next();
  while (drawn >= reject_from) drawn = next();
  return static_cast<std::size_t>(drawn % bound);
}

void Random::shuffle(std::span<std::size_t> values) {
  for (std::size_t i = values.size(); i > 1; i--) std::swap(values[i - 1], values[below(i)]);
}

std::vector<std::vector<std::size_t>> rows_by_class(std::span<const std::size_t> classes) {
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t row = 0; row < classes.size(); row++) {
    if (classes[row] >= out.size()) out.resize(classes[row] + 1);
    out[classes[row]].push_back(row);
  }
  return out;
}

std::vector<std::size_t> stratified_folds(std::span<const std::size_t> classes, std::size_t fold_count,
                                          std::uint64_t seed) {
  ASSAY_ASSERT(fold_count > 0);
  Random random(seed);
  std::vector<std::size_t> out(classes.size());
  std::size_t dealt = 0;
  for (std::vector<std::size_t>& rows : rows_by_class(classes)) {
    random.shuffle(rows);
    for (const std::size_t row : rows) out[row] = dealt++ % fold_count;
  }
  return out;
}

}  // namespace assay::teach
