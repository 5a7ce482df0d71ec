#pragma once
// XXH3, 64 bits (xxHash 0.8): finds damage at the speed of memory. It keeps nobody out who damages on purpose; SHA-256
// does.

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay {

std::uint64_t xxh3(std::span<const std::byte> bytes);

}  // namespace assay
