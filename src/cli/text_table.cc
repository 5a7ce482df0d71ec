#include "cli/text_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "cli/json_fields.h"

namespace assay::cli {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string text_table(const std::vector<Align>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], text_width(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const std::string space(widths[i] - text_width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += columns[i] == Align::kRight ? space + row[i] : row[i] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string bar_text(double share, std::size_t cells) {
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(share * static_cast<double>(cells) * 8));
  const std::size_t full = std::min(eighths / 8, cells);
  std::string out;
  for (std::size_t i = 0; i < full; ++i) out += "█";
  std::size_t used = full;
  if (full < cells && eighths % 8 > 0) {
    out += kEighths[eighths % 8];
    ++used;
  }
  return out + std::string(cells - used, ' ');
}

std::string one_line(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t used = 0;
  // Four bytes a character is UTF-8's most; one character more tells whether something is cut.
  const std::string readable = readable_text(text, (width + 1) * 4);
  for (std::size_t i = 0; i < readable.size(); ++i) {
    if (begins_character(readable[i])) {
      if (used == width) {
        // Room for the mark is made by dropping the last character.
        while (!out.empty() && !begins_character(out.back())) out.pop_back();
        if (!out.empty()) out.pop_back();
        return out + "…";
      }
      ++used;
    }
    const auto byte = static_cast<unsigned char>(readable[i]);
    out += byte < 0x20 || byte == 0x7F ? ' ' : readable[i];
  }
  return out;
}

std::string fixed(double number, int decimals) {
  std::array<char, 400> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, number);
  return std::string(buffer.data(), static_cast<std::size_t>(std::max(size, 0)));
}

std::string percent(double share) { return fixed(share * 100, 1) + " %"; }

std::string byte_size(double bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fixed(bytes, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

}  // namespace assay::cli
