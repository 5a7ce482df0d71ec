// Digests have equal lengths, so comparing them byte by byte without an early end takes the same time for any key.
#include "server/http/api_keys.h"

#include <algorithm>
#include <cstddef>

#include "base/sha256.h"
#include "server/http/ascii.h"

namespace assay::server {
namespace {

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// What follows "Bearer "; the scheme's name is in any case (RFC 9110, 11.1). Without the scheme, nothing.
std::string_view bearer_key(std::string_view value) {
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() < kScheme.size()) return {};
  const bool named = std::equal(kScheme.begin(), kScheme.end(), value.begin(),
                                [](char expected, char given) { return expected == ascii_lower(given); });
  return named ? without_spaces(value.substr(kScheme.size())) : std::string_view();
}

bool is_same(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

std::string_view key_of(const HttpRequest& request, bool bearer_only) {
  const std::string* authorization = find_header(request, "authorization");
  if (authorization != nullptr) {
    const std::string_view key = bearer_key(*authorization);
    if (!key.empty() || bearer_only) return key;
    const std::string_view bare = without_spaces(*authorization);
    const bool is_scheme = equal_ignoring_case(bare, "bearer");  // with no key behind it
    if (!bare.empty() && !is_scheme && bare.find(' ') == std::string_view::npos) return bare;
  }
  if (bearer_only) return {};
  const std::string* own = find_header(request, "x-api-key");
  return own == nullptr ? std::string_view() : without_spaces(*own);
}

bool is_open_path(std::string_view path) {
  return path == "/" || path == "/health" || path == "/v1/health" || path == "/ping" || path == "/v2/health/live" ||
         path == "/v2/health/ready" || path == "/execution-parameters";
}

ApiKeys::ApiKeys(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (!key.empty()) digests_.push_back(sha256_hex(key));
  }
}

KeyState ApiKeys::look(const HttpRequest& request, bool bearer_only) const {
  if (digests_.empty()) return KeyState::kAllowed;
  const std::string_view key = key_of(request, bearer_only);
  const std::string digest = sha256_hex(key);
  bool found = false;
  for (const std::string& ours : digests_) found = is_same(ours, digest) || found;
  if (key.empty()) return KeyState::kMissing;
  return found ? KeyState::kAllowed : KeyState::kWrong;
}

Status ApiKeys::check(const HttpRequest& request, bool bearer_only) const {
  const char* wanted = bearer_only ? "Authorization: Bearer KEY" : "Authorization: Bearer KEY or X-Api-Key: KEY";
  switch (look(request, bearer_only)) {
    case KeyState::kAllowed:
      return {};
    case KeyState::kMissing:
      return Error{ErrorCode::kUnauthorized, std::string("this server wants an API key: send ") + wanted, ""};
    case KeyState::kWrong:
      break;
  }
  return Error{ErrorCode::kUnauthorized, "the API key is not one of this server's", ""};
}

}  // namespace assay::server
