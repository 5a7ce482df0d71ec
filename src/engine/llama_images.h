#pragma once
// Files of images to pixels.

#include <cstdint>
#include <string>
#include <vector>

#include "assay/error.h"

namespace assay::engine {

struct Pixels {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<unsigned char> rgb;  // width * height * 3
};

// Decodes a PNG or JPEG, with the decoder that llama.cpp has in its vendor folder. Errors: kInvalidArgument, whose
// message goes on behind the image's field. REQUIRES: the file's format and size were checked; it bounds what is
// allocated.
Result<Pixels> decode_image(const std::string& file);

}  // namespace assay::engine
