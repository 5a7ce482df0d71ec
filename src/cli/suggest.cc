#include "cli/suggest.h"

#include <algorithm>

#include "base/edit_distance.h"

namespace assay::cli {

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
