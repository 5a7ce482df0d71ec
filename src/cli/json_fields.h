#pragma once
// Small steps that build and read JSON objects without a JSON library.

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/error.h"
#include "assay/value.h"

namespace assay::cli {

Value int_value(std::int64_t number);

// The member's text. Errors: kInvalidArgument with the key as field when it is missing or no string.
Result<std::string> text_member(const Value& object, std::string_view key);
// The same, but a missing member or null is `fallback`.
Result<std::string> text_member_or(const Value& object, std::string_view key, std::string fallback);

// The UTF-8 text with every invalid byte replaced by U+FFFD, at most bytes_max long and cut between characters.
std::string readable_text(std::string_view bytes, std::size_t bytes_max);

}  // namespace assay::cli
