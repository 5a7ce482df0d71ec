#pragma once
// "Did you mean …": the nearest known name to a mistyped one.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// The candidate that is nearest to `name`, the first of equals; nothing when none is close (more than a third of the
// name's length plus one away). A candidate that begins with `name` counts as close.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// ", did you mean 'x'?" or an empty text.
std::string suggestion_text(std::string_view name, const std::vector<std::string>& candidates,
                            std::string_view prefix = "");

}  // namespace assay::cli
