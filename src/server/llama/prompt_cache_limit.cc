#include "server/llama/prompt_cache_limit.h"

#include <algorithm>

namespace assay::server {
namespace {

constexpr std::uint64_t kLeastMib = 16;

}  // namespace

int prompt_cache_mib(std::uint64_t left_bytes, int wanted) {
  const std::uint64_t half_mib = (left_bytes / 2) >> 20;
  if (half_mib < kLeastMib) return 0;
  return static_cast<int>(std::min(half_mib, static_cast<std::uint64_t>(std::max(wanted, 0))));
}

}  // namespace assay::server
