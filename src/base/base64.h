#pragma once
// Base64 (RFC 4648, section 4).

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// The bytes; nothing where the text is no base64. Padding may be left out; blanks and line breaks are refused, and so
// is the alphabet for URLs.
std::optional<std::string> base64_bytes(std::string_view text);

// With padding.
std::string base64_text(std::string_view bytes);

}  // namespace assay
