#include "server/http/cors.h"

#include <algorithm>

namespace assay::server {
namespace {

constexpr const char* kAnyOrigin = "*";
constexpr const char* kThisMachine = "localhost";
constexpr const char* kMethods = "GET, HEAD, POST, DELETE";
// For clients that do not name the headers they want to send.
constexpr const char* kRequestHeaders =
    "Authorization, Content-Type, X-Api-Key, X-Request-Id, X-Timeout-Ms, X-Priority";
constexpr const char* kReplyHeaders = "Allow, Retry-After, X-Decision-Id, X-Request-Id, X-Typesafe-Request-Id";
constexpr const char* kSecondsRemembered = "600";

bool is_origin(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return false;
  const std::string_view host = text.substr(scheme + 3);
  return !host.empty() && host.find_first_of("/?#*@") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F' && !(c >= 'A' && c <= 'Z'); });
}

// A page that this machine serves itself, on any port.
bool is_of_this_machine(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  if (scheme != 4 && scheme != 5) return false;
  if (origin.substr(0, scheme) != std::string_view("https").substr(0, scheme)) return false;
  std::string_view host = origin.substr(scheme + 3);
  const std::size_t port = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (port != std::string_view::npos) {
    const std::string_view digits = host.substr(port + 1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
    host = host.substr(0, port);
  }
  return host == kThisMachine || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace

Status Cors::check(const std::vector<std::string>& origins) {
  for (const std::string& origin : origins) {
    if (origin == kAnyOrigin || origin == kThisMachine || is_origin(origin)) continue;
    return invalid_argument("--cors-origin",
                            "--cors-origin wants *, localhost or an origin such as https://app.example.com, in "
                            "lower case and without a path, not '" +
                                origin + "'");
  }
  return {};
}

bool Cors::lets_all_in() const { return std::find(origins_.begin(), origins_.end(), kAnyOrigin) != origins_.end(); }

bool Cors::lets_in(std::string_view origin) const {
  const auto has = [this](std::string_view one) {
    return std::find(origins_.begin(), origins_.end(), one) != origins_.end();
  };
  if (origin.empty()) return false;
  return lets_all_in() || (origin != kThisMachine && has(origin)) || (has(kThisMachine) && is_of_this_machine(origin));
}

Cors::Headers Cors::headers_for(std::string_view origin) const {
  if (origins_.empty()) return {};
  if (lets_all_in()) {
    if (origin.empty()) return {};
    return {{"Access-Control-Allow-Origin", kAnyOrigin}, {"Access-Control-Expose-Headers", kReplyHeaders}};
  }
  // Caches must not give one page's reply to another.
  if (!lets_in(origin)) return {{"Vary", "Origin"}};
  return {{"Vary", "Origin"},
          {"Access-Control-Allow-Origin", std::string(origin)},
          {"Access-Control-Allow-Credentials", "true"},
          {"Access-Control-Expose-Headers", kReplyHeaders}};
}

std::optional<HttpReply> Cors::preflight(const HttpRequest& request) const {
  const std::string* origin = find_header(request, "origin");
  if (request.method != "OPTIONS" || origin == nullptr || !lets_in(*origin)) return std::nullopt;
  if (find_header(request, "access-control-request-method") == nullptr) return std::nullopt;
  const std::string* wanted = find_header(request, "access-control-request-headers");
  HttpReply reply;
  reply.status = 204;
  reply.content_type.clear();
  reply.headers = {{"Access-Control-Allow-Methods", kMethods},
                   {"Access-Control-Allow-Headers", wanted != nullptr && !wanted->empty() ? *wanted : kRequestHeaders},
                   {"Access-Control-Max-Age", kSecondsRemembered}};
  return reply;
}

}  // namespace assay::server
