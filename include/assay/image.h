#pragma once
// Images that a request shows to the model, and what can be said of a file without decoding it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "assay/error.h"

namespace assay {

struct Image {
  // A PNG or JPEG file, as it came. Copies of a request own it together, and none of them changes it.
  std::shared_ptr<const std::string> file;
  // What the state and the questions call it: the model is told it before the image. Empty: it has no name.
  std::string name;
};

enum class ImageFormat { kPng, kJpeg };
const char* image_format_name(ImageFormat format);  // "PNG", "JPEG"

// How many a request may have and how large each may be. Pixels and sides bound what decoding and cutting take.
inline constexpr std::size_t kImagesMax = 8;
inline constexpr std::size_t kImageBytesMax = std::size_t{16} * 1024 * 1024;
inline constexpr std::uint32_t kImageSideMin = 16;
inline constexpr std::uint32_t kImageSideMax = 8192;
inline constexpr std::uint64_t kImagePixelsMax = std::uint64_t{32} * 1024 * 1024;
inline constexpr std::uint32_t kImageRatioMax = 50;  // of the longer side to the shorter one

struct ImageFacts {
  ImageFormat format = ImageFormat::kPng;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

// Format and size, from the file's own structure (PNG: ISO 15948, every chunk with its checksum; JPEG: ITU T.81, the
// markers up to the first scan, and the end's). Errors: kInvalidArgument without a field, whose message goes on behind
// one ("is no PNG or JPEG file"). The pixels are not looked at.
Result<ImageFacts> inspect_image(std::string_view file);

// inspect_image(), and the limits above. Errors: the same.
Result<ImageFacts> check_image(std::string_view file);

}  // namespace assay
