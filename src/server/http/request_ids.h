#pragma once
// The id of each request, in replies and logs.

#include <atomic>
#include <cstdint>
#include <string>

#include "server/http/http_message.h"

namespace assay::server {

// Thread-safe.
class RequestIds {
 public:
  // `seed`: where the new ids begin; 0: taken from the system's random source.
  explicit RequestIds(std::uint64_t seed);
  // The client's own x-request-id when it is 1..128 visible ASCII characters, so that it can stand in a header and a
  // log; else a new one, 16 hex digits.
  std::string id_of(const HttpRequest& request);

 private:
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> given_{0};
};

}  // namespace assay::server
