#pragma once
// A server that stands behind a part of somebody else's paths: "/x/health" is its "/health".

#include <optional>
#include <string_view>

namespace assay::server {

// What of `path` stands behind `prefix`: "/" and all that follows; "/" where nothing does. Nothing for a path that does
// not begin with it, or goes on within its last segment. An empty prefix changes nothing.
inline std::optional<std::string_view> behind_prefix(std::string_view path, std::string_view prefix) {
  if (path.substr(0, prefix.size()) != prefix) return std::nullopt;
  const std::string_view rest = path.substr(prefix.size());
  if (prefix.empty()) return rest;
  if (rest.empty()) return std::string_view("/");
  return rest.front() == '/' ? std::optional(rest) : std::nullopt;
}

// The path of a request's target that names the whole address, as clients say it to proxies (RFC 9112, 3.2.2); any
// other is a path already.
inline std::string_view path_of_target(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (target.empty() || target.front() == '/' || scheme == std::string_view::npos) return target;
  const std::size_t path = target.find('/', scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

// True for what can be a prefix: empty, or "/" and more, without a "/" at the end, a space or a '?'.
inline bool is_path_prefix(std::string_view prefix) {
  if (prefix.empty()) return true;
  return prefix.front() == '/' && prefix.back() != '/' && prefix.find_first_of(" \t\r\n?#%") == std::string_view::npos;
}

}  // namespace assay::server
