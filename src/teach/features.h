#pragma once
// Hidden states as a head is fitted to them: standardised, and reduced to their direction.

#include <cstddef>
#include <span>
#include <vector>

namespace assay::teach {

// What LinearHead keeps of it, with the same meaning; applied by prepared() here and by head_scores() in apply.h.
struct Standardisation {
  std::vector<float> mean, scale;
  bool normalised = true;
};

// Mean and 1 / standard deviation (of the rows as they are: divided by n) of each number. A number that is the same in
// all rows gets scale 0, so that it never counts. `x` holds row after row. REQUIRES: at least one row; finite numbers.
Standardisation standardisation(std::span<const float> x, std::size_t width, bool normalised);

// z of assay/lesson.h for each row, row after row.
std::vector<double> prepared(std::span<const float> x, const Standardisation& how);

}  // namespace assay::teach
