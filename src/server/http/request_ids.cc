#include "server/http/request_ids.h"

#include <algorithm>
#include <random>

namespace assay::server {
namespace {

constexpr std::size_t kRequestIdCharsMax = 128;

// A bijection of 64 bits that looks random (splitmix64's last steps), so consecutive counts give unlike ids.
std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

bool is_sane(const std::string& id) {
  return !id.empty() && id.size() <= kRequestIdCharsMax &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

}  // namespace

RequestIds::RequestIds(std::uint64_t seed) : seed_(seed != 0 ? seed : random_seed()) {}

std::string RequestIds::id_of(const HttpRequest& request) {
  const std::string* given = find_header(request, "x-request-id");
  if (given != nullptr && is_sane(*given)) return *given;
  std::uint64_t bits = scrambled(seed_ + given_.fetch_add(1) * 0x9E3779B97F4A7C15u);
  std::string id(16, '0');
  for (std::size_t i = id.size(); i-- > 0; bits >>= 4) id[i] = "0123456789abcdef"[bits & 15];
  return id;
}

}  // namespace assay::server
