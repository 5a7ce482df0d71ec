#include "server/llama/chat_server.h"

#include <string_view>

namespace assay::server {
namespace {

// Takes the first segment off a path, without its slash.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(path.empty() ? 0 : 1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

}  // namespace

std::string segment_of(const std::string& pattern, std::string_view path) {
  std::string_view wanted = pattern;
  while (!wanted.empty() && !path.empty()) {
    const std::string_view want = take_segment(wanted);
    const std::string_view have = take_segment(path);
    if (want.substr(0, 1) == ":") return std::string(have);
  }
  return "";
}

}  // namespace assay::server
