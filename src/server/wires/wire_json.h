#pragma once
// JSON text to assay::Value, without loss: key order, every digit of an integer, every byte of a string.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "assay/error.h"
#include "assay/value.h"

namespace assay::server {

// Objects and arrays may lie in each other this deep; a scalar has depth 0.
inline constexpr std::size_t kJsonDepthMax = 256;
// Digits of one integer, as Python's own limit.
inline constexpr std::size_t kJsonDigitsMax = 4300;

// Reads one JSON value (RFC 8259) that fills the whole text; white space around it is allowed.
// A number without '.', 'e' and 'E' is an Integer with its digits kept ("-0" is "0", as in Python); any other is a
// double, rounded to nearest. A byte order mark before the text is skipped. Refused, beside all that is not JSON: a key
// twice in one object, more than kJsonDepthMax levels, more than kJsonDigitsMax digits, a number that overflows a
// double, NaN and Infinity, invalid UTF-8, lone surrogates. The error is kInvalidArgument with an empty field; its
// message says near which byte.
Result<Value> parse_json(std::string_view text);

// Values for replies. A text from outside (a token's piece, a file's name) may not be UTF-8: each bad byte becomes
// U+FFFD, so that what we write is always JSON.
Value text_value(std::string_view text);
Value count_value(std::int64_t count);
Value size_value(std::uint64_t size);

}  // namespace assay::server
