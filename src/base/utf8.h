#pragma once
// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay {

// The offset of the first byte that does not belong to valid UTF-8; nothing when all of it is valid.
std::optional<std::size_t> first_invalid_utf8(std::string_view bytes);

}  // namespace assay
