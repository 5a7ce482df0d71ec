#include "cli/suggest.h"

#include <algorithm>
#include <numeric>

namespace assay::cli {

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

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty()) return std::nullopt;
  const std::size_t limit = name.size() / 3 + 1;
  std::optional<std::string> nearest;
  std::size_t nearest_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const bool begins = name.size() >= 3 && candidate.starts_with(name);
    const std::size_t distance = begins ? 1 : edit_distance(name, candidate);
    if (distance < nearest_distance && distance < std::max(name.size(), candidate.size())) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::string suggestion_text(std::string_view name, const std::vector<std::string>& candidates,
                            std::string_view prefix) {
  const std::optional<std::string> nearest = nearest_name(name, candidates);
  if (!nearest) return "";
  return ", did you mean '" + std::string(prefix) + *nearest + "'?";
}

}  // namespace assay::cli
