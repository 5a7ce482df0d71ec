#include "engine/llama_images.h"

// A copy of its own: PNG and JPEG and nothing else, from memory, and never larger than what was checked.
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 8192
#include <stb/stb_image.h>

#include <limits>

namespace assay::engine {

Result<Pixels> decode_image(const std::string& file) {
  constexpr int kColours = 3;
  if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return invalid_argument("", "is too large to be decoded");
  int width = 0;
  int height = 0;
  int colours = 0;
  unsigned char* const data = stbi_load_from_memory(reinterpret_cast<const unsigned char*>(file.data()),
                                                    static_cast<int>(file.size()), &width, &height, &colours, kColours);
  if (data == nullptr) {
    const char* reason = stbi_failure_reason();
    return invalid_argument(
        "", std::string("cannot be decoded") + (reason == nullptr ? "" : ": ") + (reason == nullptr ? "" : reason));
  }
  Pixels pixels{.width = static_cast<std::uint32_t>(width), .height = static_cast<std::uint32_t>(height), .rgb = {}};
  pixels.rgb.assign(data, data + std::size_t{pixels.width} * pixels.height * kColours);
  stbi_image_free(data);
  return pixels;
}

}  // namespace assay::engine
