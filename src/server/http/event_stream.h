#pragma once
// Frames of AWS's event stream (application/vnd.amazon.eventstream), the form in which SageMaker's clients read a
// streamed reply.
//
// A frame, numbers big-endian: its length and that of its headers (4 bytes each), the CRC-32 of these 8 bytes, the
// headers, the payload, the CRC-32 of all before it. A header: length of its name (1 byte), the name, 7 for "a string",
// length of the string (2 bytes), the string. As smithy.io/2.0/aws/amazon-eventstream.html says.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::server {

inline constexpr const char* kEventStreamFramesType = "application/vnd.amazon.eventstream";

// REQUIRES: names of 1 to 255 bytes, values below 32 KiB, a payload of at most 16 MiB.
std::string event_frame(const std::vector<std::pair<std::string, std::string>>& headers, std::string_view payload);

// A piece of the reply's body. Pieces above 16 MiB come as several frames.
std::string payload_part(std::string_view piece);

}  // namespace assay::server
