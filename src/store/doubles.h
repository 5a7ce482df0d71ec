#pragma once
// Several doubles as one value of a row: 8 bytes each, the little end first.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

std::string doubles_to_bytes(const std::vector<double>& numbers);
// Nothing when the bytes are no whole number of doubles, or one of them is not finite.
std::optional<std::vector<double>> doubles_of_bytes(std::string_view bytes);

}  // namespace assay::store
