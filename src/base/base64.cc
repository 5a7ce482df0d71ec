#include "base/base64.h"

#include "base64.hpp"

namespace assay {

std::optional<std::string> base64_bytes(std::string_view text) {
  const std::size_t digits = text.substr(0, text.find('=')).size();
  const std::size_t padding = text.size() - digits;
  // A single digit in the last group is not a whole byte; what is padded fills its group.
  if (digits % 4 == 1 || padding > 2 || (padding > 0 && text.size() % 4 != 0)) return std::nullopt;
  try {
    return base64::decode(text.data(), text.size(), base64::alphabet::standard);
  } catch (const base64_error&) {
    return std::nullopt;
  }
}

std::string base64_text(std::string_view bytes) { return base64::encode(bytes.data(), bytes.size()); }

}  // namespace assay
