// What files of images say of themselves. Every number of a file is checked against its length before it is used.
#include "assay/image.h"

#include <algorithm>
#include <array>
#include <optional>

namespace assay {
namespace {

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegSignature = "\xff\xd8\xff";
constexpr std::string_view kJpegEnd = "\xff\xd9";

Error refused(std::string message) { return invalid_argument("", std::move(message)); }

std::uint32_t byte_at(std::string_view file, std::size_t at) { return static_cast<unsigned char>(file[at]); }
std::uint32_t big_endian(std::string_view file, std::size_t at, std::size_t bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < bytes; i++) number = number << 8U | byte_at(file, at + i);
  return number;
}

// CRC-32 as PNG has it (ISO 15948, annex D).
std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); i++) {
      std::uint32_t number = i;
      for (int bit = 0; bit < 8; bit++) number = (number & 1U) != 0 ? 0xEDB88320U ^ number >> 1U : number >> 1U;
      table[i] = number;
    }
    return table;
  }();
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const char byte : bytes) sum = kTable[(sum ^ static_cast<unsigned char>(byte)) & 0xFFU] ^ sum >> 8U;
  return sum ^ 0xFFFFFFFFU;
}

// Chunks of length, name, bytes and checksum, the first IHDR and the last IEND.
Result<ImageFacts> inspect_png(std::string_view file) {
  constexpr std::size_t kAround = 12;  // what a chunk has beside its bytes
  constexpr std::size_t kHeadBytes = 13;
  std::optional<ImageFacts> facts;
  bool has_pixels = false;
  for (std::size_t at = kPngSignature.size(); file.size() - at >= kAround;) {
    const std::size_t bytes = big_endian(file, at, 4);
    if (bytes > file.size() - at - kAround) break;
    const std::string_view name = file.substr(at + 4, 4);
    if (crc32(file.substr(at + 4, 4 + bytes)) != big_endian(file, at + 8 + bytes, 4))
      return refused("is a damaged PNG: a checksum is wrong");
    if (!facts) {
      if (name != "IHDR" || bytes != kHeadBytes) return refused("is a damaged PNG: it has no header");
      facts = ImageFacts{
          .format = ImageFormat::kPng, .width = big_endian(file, at + 8, 4), .height = big_endian(file, at + 12, 4)};
    }
    has_pixels = has_pixels || name == "IDAT";
    if (name == "IEND") {
      if (!has_pixels) return refused("is a damaged PNG: it has no pixels");
      return *facts;
    }
    at += kAround + bytes;
  }
  return refused("is a damaged PNG: it is cut short");
}

bool is_frame(std::uint32_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}
// Markers without a segment behind them.
bool stands_alone(std::uint32_t marker) { return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7); }

Result<ImageFacts> inspect_jpeg(std::string_view file) {
  std::optional<ImageFacts> facts;
  std::size_t at = 2;
  while (file.size() - at >= 4) {
    if (byte_at(file, at) != 0xFF) return refused("is a damaged JPEG: a marker is missing");
    const std::uint32_t marker = byte_at(file, at + 1);
    if (marker == 0xFF) {  // padding
      at++;
      continue;
    }
    if (stands_alone(marker)) {
      at += 2;
      continue;
    }
    const std::size_t bytes = big_endian(file, at + 2, 2);
    if (bytes < 2 || bytes > file.size() - at - 2) break;
    if (is_frame(marker)) {
      if (marker > 0xC2) return refused("is a JPEG of a kind that is not read here: baseline and progressive ones are");
      if (bytes < 8) return refused("is a damaged JPEG: its header is cut short");
      facts = ImageFacts{
          .format = ImageFormat::kJpeg, .width = big_endian(file, at + 7, 2), .height = big_endian(file, at + 5, 2)};
    }
    if (marker == 0xDA) {
      if (!facts) return refused("is a damaged JPEG: it has no header");
      if (file.substr(at + 2 + bytes).rfind(kJpegEnd) == std::string_view::npos) break;
      return *facts;
    }
    at += 2 + bytes;
  }
  return refused("is a damaged JPEG: it is cut short");
}

}  // namespace

const char* image_format_name(ImageFormat format) { return format == ImageFormat::kPng ? "PNG" : "JPEG"; }

Result<ImageFacts> inspect_image(std::string_view file) {
  if (file.starts_with(kPngSignature)) return inspect_png(file);
  if (file.starts_with(kJpegSignature)) return inspect_jpeg(file);
  return refused("is no PNG or JPEG file");
}

Result<ImageFacts> check_image(std::string_view file) {
  if (file.size() > kImageBytesMax) {
    return refused("has " + std::to_string(file.size()) + " bytes; at most " + std::to_string(kImageBytesMax) +
                   " are allowed");
  }
  Result<ImageFacts> facts = inspect_image(file);
  if (!facts.ok()) return facts;
  const std::uint32_t shorter = std::min(facts->width, facts->height);
  const std::uint32_t longer = std::max(facts->width, facts->height);
  const std::string size = "is " + std::to_string(facts->width) + " x " + std::to_string(facts->height) + " pixels; ";
  if (shorter < kImageSideMin || longer > kImageSideMax) {
    return refused(size + "each side must have " + std::to_string(kImageSideMin) + " to " +
                   std::to_string(kImageSideMax));
  }
  if (std::uint64_t{shorter} * longer > kImagePixelsMax) {
    return refused(size + "at most " + std::to_string(kImagePixelsMax) + " pixels are allowed");
  }
  if (longer / shorter >= kImageRatioMax) {
    return refused(size + "one side may be at most " + std::to_string(kImageRatioMax) + " times the other");
  }
  return facts;
}

}  // namespace assay
