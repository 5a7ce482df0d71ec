#include "base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace assay {

std::size_t edit_distance(std::string_view left, std::string_view right) {
  // row[j]: distance between the first i bytes of left and the first j bytes of right; above and above_that are the
  // rows of i - 1 and i - 2.
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> above = row;
  std::vector<std::size_t> above_that = row;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    above_that.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      row[j] = std::min({above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1), above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) row[j] = std::min(row[j], above_that[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace assay
