#include "server/http/http_headers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/sha256.h"
#include "server/http/api_keys.h"
#include "server/http/ascii.h"

namespace assay::server {
namespace {

constexpr std::size_t kClientHexDigits = 16;
constexpr double kRetryAfterSecondsMax = 3600;

}  // namespace

std::string client_of(const HttpRequest& request) {
  const std::string_view key = key_of(request, false);
  // The scheme's name without a key names nobody.
  if (key.empty() || equal_ignoring_case(key, "bearer")) return "";
  return sha256_hex(key).substr(0, kClientHexDigits);
}

bool is_json_media_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.front() == ' ' || type.front() == '\t')) type.remove_prefix(1);
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return equal_ignoring_case(type, "application/json");
}

std::uint64_t content_length(const HttpRequest& request) {
  const std::string* text = find_header(request, "content-length");
  std::uint64_t length = 0;
  if (text == nullptr) return 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), length);
  // More digits than any number has is a very long body too.
  return code == std::errc::result_out_of_range ? ~std::uint64_t{0} : length;
}

std::string retry_after_text(double seconds) {
  const double bounded = seconds > 1 ? std::min(seconds, kRetryAfterSecondsMax) : 1;  // NaN is 1
  return std::to_string(static_cast<int>(std::ceil(bounded)));
}

}  // namespace assay::server
