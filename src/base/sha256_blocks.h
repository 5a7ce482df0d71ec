#pragma once
// SHA-256's compression function in the processor's own instructions, some five times as fast as in plain C.

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay {

using Sha256Words = std::array<std::uint32_t, 8>;

// Whether this processor has them (x86-64 with SHA extensions).
bool has_sha256_blocks();
// Takes `count` blocks of 64 bytes into the state. REQUIRES: has_sha256_blocks().
void sha256_blocks(Sha256Words& state, const unsigned char* bytes, std::size_t count);

}  // namespace assay
