#include "server/http/event_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "base/assert.h"

namespace assay::server {
namespace {

constexpr std::size_t kPayloadBytesMax = std::size_t{16} * 1024 * 1024;
constexpr char kStringHeader = 7;

void add_big_endian(std::string& out, std::uint32_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>((number >> shift) & 0xFF);
}

std::uint32_t checksum(std::string_view bytes) {
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());  // zlib's view of bytes
  return static_cast<std::uint32_t>(crc32(0, data, static_cast<uInt>(bytes.size())));
}

}  // namespace

std::string event_frame(const std::vector<std::pair<std::string, std::string>>& headers, std::string_view payload) {
  ASSAY_ASSERT(payload.size() <= kPayloadBytesMax);
  std::string head;
  for (const auto& [name, value] : headers) {
    ASSAY_ASSERT(!name.empty() && name.size() <= 255 && value.size() < 32768);
    add_big_endian(head, static_cast<std::uint32_t>(name.size()), 1);
    head += name;
    head += kStringHeader;
    add_big_endian(head, static_cast<std::uint32_t>(value.size()), 2);
    head += value;
  }
  std::string frame;
  constexpr std::size_t kAround = 16;  // two lengths and two checksums
  frame.reserve(kAround + head.size() + payload.size());
  add_big_endian(frame, static_cast<std::uint32_t>(kAround + head.size() + payload.size()), 4);
  add_big_endian(frame, static_cast<std::uint32_t>(head.size()), 4);
  add_big_endian(frame, checksum(frame), 4);
  frame += head;
  frame += payload;
  add_big_endian(frame, checksum(frame), 4);
  return frame;
}

std::string payload_part(std::string_view piece) {
  std::string out;
  do {
    const std::string_view part = piece.substr(0, kPayloadBytesMax);
    piece.remove_prefix(part.size());
    out += event_frame(
        {{":message-type", "event"}, {":event-type", "PayloadPart"}, {":content-type", "application/octet-stream"}},
        part);
  } while (!piece.empty());
  return out;
}

}  // namespace assay::server
