#include "server/http/event_stream.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

// The empty message that AWS's own test vectors begin with.
TEST(EventStream, TheEmptyFrameHasTheBytesOfTheProtocol) {
  EXPECT_EQ(event_frame({}, ""), bytes({0, 0, 0, 0x10, 0, 0, 0, 0, 0x05, 0xC2, 0x48, 0xEB, 0x7D, 0x98, 0xC8, 0xFF}));
}

TEST(EventStream, LengthsHeadersAndPayloadLieInTheirPlaces) {
  const std::string frame = event_frame({{"ab", "xyz"}}, "pay");
  // 8 bytes of lengths, 4 checksum, header 1 + 2 + 1 + 2 + 3, payload 3, 4 checksum.
  ASSERT_EQ(frame.size(), 28u);
  EXPECT_EQ(frame.substr(0, 8), bytes({0, 0, 0, 28, 0, 0, 0, 9}));
  EXPECT_EQ(frame.substr(12, 12), bytes({2}) + "ab" + bytes({7, 0, 3}) + "xyz" + "pay");
}

TEST(EventStream, APieceIsOnePayloadPart) {
  const std::string frame = payload_part("data: 1\n\n");
  EXPECT_NE(frame.find(":event-type" + bytes({7, 0, 11}) + "PayloadPart"), std::string::npos);
  EXPECT_NE(frame.find("data: 1\n\n"), std::string::npos);
  EXPECT_EQ(payload_part("").size(), event_frame({}, "").size() + frame.size() - event_frame({}, "data: 1\n\n").size());
}

TEST(EventStream, AVeryLongPieceIsSeveralFrames) {
  constexpr std::size_t kMax = std::size_t{16} * 1024 * 1024;
  const std::size_t around = payload_part("").size();
  EXPECT_EQ(payload_part(std::string(kMax, 'x')).size(), kMax + around);
  EXPECT_EQ(payload_part(std::string(kMax + 1, 'x')).size(), kMax + 1 + 2 * around);
}

}  // namespace
}  // namespace assay::server
