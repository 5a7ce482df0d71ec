#pragma once
// Small valid files of images, for tests.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::testing {

inline std::string big_endian(std::uint32_t number) {
  return {static_cast<char>(number >> 24U), static_cast<char>(number >> 16U), static_cast<char>(number >> 8U),
          static_cast<char>(number)};
}

// A chunk with its checksum, bit by bit.
inline std::string png_chunk(std::string_view name, std::string_view bytes) {
  const std::string named = std::string(name) + std::string(bytes);
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const char byte : named) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; bit++) sum = (sum & 1U) != 0 ? 0xEDB88320U ^ sum >> 1U : sum >> 1U;
  }
  return big_endian(static_cast<std::uint32_t>(bytes.size())) + named + big_endian(sum ^ 0xFFFFFFFFU);
}

// One colour all over, in a zlib stream of stored blocks, a block for each line.
inline std::string png_file(std::uint32_t width, std::uint32_t height,
                            std::array<std::uint8_t, 3> colour = {200, 30, 30}) {
  std::string line(1, '\0');
  for (std::uint32_t x = 0; x < width; x++) {
    for (const std::uint8_t part : colour) line += static_cast<char>(part);
  }
  std::string zlib = "\x78\x01";
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (std::uint32_t y = 0; y < height; y++) {
    const auto bytes = static_cast<std::uint16_t>(line.size());
    zlib += static_cast<char>(y + 1 == height ? 1 : 0);
    for (const std::uint16_t number : {bytes, static_cast<std::uint16_t>(~bytes)}) {
      zlib += static_cast<char>(number & 0xFFU);
      zlib += static_cast<char>(number >> 8U);
    }
    zlib += line;
    for (const char byte : line) {
      low = (low + static_cast<unsigned char>(byte)) % 65521;
      high = (high + low) % 65521;
    }
  }
  zlib += big_endian(high << 16U | low);
  const std::string head = big_endian(width) + big_endian(height) + std::string("\x08\x02\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", head) + png_chunk("IDAT", zlib) + png_chunk("IEND", "");
}

// The structure of a JPEG without pixels worth decoding.
inline std::string jpeg_file(std::uint16_t width, std::uint16_t height, char frame = '\xc0') {
  const auto two = [](std::uint16_t number) {
    return std::string{static_cast<char>(number >> 8U), static_cast<char>(number)};
  };
  return "\xff\xd8\xff\xe0" + two(4) + "JF" + "\xff" + std::string(1, frame) + two(11) + "\x08" + two(height) +
         two(width) + std::string("\x01\x01\x11\x00", 4) + "\xff\xda" + two(8) +
         std::string("\x01\x01\x00\x00\x3f\x00", 6) + "pixels" + "\xff\xd9";
}

}  // namespace assay::testing
