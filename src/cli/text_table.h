#pragma once
// Text for people: aligned columns, bars, and control characters made visible.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

enum class Align { kLeft, kRight };

// Columns as wide as their widest cell, two spaces between them, no spaces at line ends. Rows may be shorter than the
// columns. Width is counted in code points.
std::string text_table(const std::vector<Align>& columns, const std::vector<std::vector<std::string>>& rows);

// A bar of block characters, `share` of `cells` cells long in eighths, padded with spaces. REQUIRES: 0 <= share <= 1.
std::string bar_text(double share, std::size_t cells);

// Code points of UTF-8 text.
std::size_t text_width(std::string_view text);

// One line that fits `width` columns: newlines, tabs and other control characters become spaces, a cut shows "…".
std::string one_line(std::string_view text, std::size_t width);

// A fixed number of decimals, never in exponent form.
std::string fixed(double number, int decimals);
// "63.2 %"
std::string percent(double share);
// "1.5 GiB"
std::string byte_size(double bytes);

}  // namespace assay::cli
