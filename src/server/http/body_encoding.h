#pragma once
// Compressed bodies: gzip, deflate and zstd, taken apart into no more than a stated number of bytes.

#include <cstddef>
#include <string>
#include <string_view>

#include "assay/error.h"

namespace assay::server {

// The codings that decode_body() knows, as Accept-Encoding lists them ("gzip, deflate, zstd"; what this build has).
const char* body_encodings();
// Whether a Content-Encoding is one of them, or none ("", "identity"); ASCII case ignored.
bool is_known_encoding(std::string_view coding);

// The body as it was before it was compressed. Stops at `bytes_max`: what is small and becomes large costs no more than
// that. Errors: kMediaType for an unknown coding, kTooLong above the limit, kInvalidArgument for bytes that are not
// what the coding says, that end too early or go on behind the end. gzip and zstd may come in several pieces, one
// behind the other.
Result<std::string> decode_body(std::string_view coding, const std::string& body, std::size_t bytes_max);

}  // namespace assay::server
