#pragma once
// Packed weights in a file, so that a restart and a second process map what the first one packed.
//
// A file holds one model's packed weights one after another, as they lie in memory:
//
//     0          "ASSAYPCK", version of this format (u32), bytes in a block (u32), bytes of weights (u64),
//                SHA-256 of the identity as 64 hex digits
//     128        XXH3 of each block of the weights (u64 each), then XXH3 of everything before it (u64)
//     a multiple of 2 MiB   the weights
//
// Numbers are little-endian. Nothing in a file is believed: its length and first part are compared with what they must
// be, and every block with its hash. The hashes find damage; they keep nobody out who may write into the folder.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/packed_region.h"

namespace assay::kernels {

struct PackCacheFile {
  std::string dir;
  std::string identity;  // everything that the packed bytes depend on; any text
  std::string path() const;
};

struct PackCacheRead {
  std::unique_ptr<PackedRegion> region;  // null: no such file, or a fault
  std::string fault;                     // why a file that is there is not used: "block 3 is damaged"
};

// Maps the file and checks all of it, on `threads` threads. REQUIRES: bytes > 0, threads > 0.
PackCacheRead read_pack_cache(const PackCacheFile& file, std::size_t bytes, std::int32_t threads);

// Writes the file whole or not at all, through one with another name beside it; makes the folder when it is missing.
// What writers that were killed have left for the same identity is removed. Any number of processes may do so at once.
// Empty, or why it could not be written.
std::string write_pack_cache(const PackCacheFile& file, std::span<const std::byte> weights, std::int32_t threads);

}  // namespace assay::kernels
