#pragma once
// SHA-256 as lower-case hex.

#include <string>
#include <string_view>

namespace assay {

std::string sha256_hex(std::string_view bytes);
// Of a whole file, read through a mapping. Empty when the file cannot be read.
std::string sha256_hex_of_file(const std::string& path);

}  // namespace assay
