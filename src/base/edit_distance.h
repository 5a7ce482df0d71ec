#pragma once
// How far two texts are from each other, for "did you mean".

#include <cstddef>
#include <string_view>

namespace assay {

// Levenshtein's distance in bytes, two swapped neighbours counted as one edit: the fewest insertions, deletions,
// replacements and swaps that turn one into the other, no byte edited twice. Takes |left| x |right| steps.
std::size_t edit_distance(std::string_view left, std::string_view right);

}  // namespace assay
