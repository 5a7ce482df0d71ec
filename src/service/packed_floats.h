#pragma once
// Floats as text: little-endian IEEE-754 in base64, with the SHA-256 of their bytes beside them.

#include <cstddef>
#include <string>
#include <vector>

#include "assay/error.h"

namespace assay::service {

struct PackedFloats {
  std::string base64, sha256;
};
PackedFloats pack_floats(const std::vector<float>& numbers);
// Are these so many finite numbers? Errors, here and below: kInvalidArgument; the message goes on behind a name.
Status check_floats(const std::vector<float>& numbers, std::size_t size);
Result<std::vector<float>> unpack_floats(const PackedFloats& packed, std::size_t size);

}  // namespace assay::service
