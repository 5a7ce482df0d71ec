#include "server/route_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/edit_distance.h"
#include "base/utf8.h"
#include "server/http/ascii.h"

namespace assay::server {
namespace {

constexpr std::size_t kShownPathBytesMax = 200;

}  // namespace

const std::vector<Route>& known_routes() {
  static const std::vector<Route> kRoutes = {
      {"/health", "GET", RouteKind::kHealth},
      {"/ping", "GET", RouteKind::kPing},
      {"/v1/models", "GET", RouteKind::kModels},
      {"/metrics", "GET", RouteKind::kMetrics},
      {"/openapi.json", "GET", RouteKind::kPage},
      {"/docs", "GET", RouteKind::kPage},
      {"/docs.js", "GET", RouteKind::kPage},
      {"/docs.css", "GET", RouteKind::kPage},
      {"/v1/systemone", "POST", RouteKind::kSystemOne},
      {"/api/v1/systemone", "POST", RouteKind::kSystemOne},
      {"/api/alpha/decisions", "POST", RouteKind::kSystemOne},
      {"/v1/decisions", "POST", RouteKind::kDecisions},
      {"/decisions", "POST", RouteKind::kDecisions},
      {"/v1/chat/completions", "POST", RouteKind::kChat},
      {"/v1/decide", "POST", RouteKind::kSemif},
      {"/invocations", "POST", RouteKind::kInvocations},
      {"/openai/v1/chat/completions", "POST", RouteKind::kChat},
      {"/v1/health", "GET", RouteKind::kHealth},
      {"/execution-parameters", "GET", RouteKind::kExecutionParameters},
      {"/endpoints/{name}/invocations", "POST", RouteKind::kEndpoint},
      {"/endpoints/{name}/invocations-response-stream", "POST", RouteKind::kEndpoint},
      {"/endpoints/{name}/async-invocations", "POST", RouteKind::kEndpoint},
      {"/endpoints/{name}/async-invocations/{id}", "GET", RouteKind::kAsyncReply},
      {"/v2", "GET", RouteKind::kOip},
      {"/v2/health/live", "GET", RouteKind::kOip},
      {"/v2/health/ready", "GET", RouteKind::kOip},
      {"/v2/models/{model}", "GET", RouteKind::kOip},
      {"/v2/models/{model}/ready", "GET", RouteKind::kOip},
      {"/v1/feedback", "POST", RouteKind::kLessons},
      {"/v1/decisions/export", "GET", RouteKind::kExport},
      {"/v1/decisions/{id}", "GET", RouteKind::kLessons},
      {"/v1/decisions/{id}", "DELETE", RouteKind::kLessons},
      {"/v1/lessons", "GET", RouteKind::kLessons},
      {"/v1/lessons", "POST", RouteKind::kLessons},
      {"/v1/lessons/{name}", "GET", RouteKind::kLessons},
      {"/v1/lessons/{name}/fit", "POST", RouteKind::kLessons},
      {"/v1/lessons/{name}/activate", "POST", RouteKind::kLessons},
      {"/v1/lessons/{name}/promote", "POST", RouteKind::kLessons},
      {"/v1/lessons/{name}/shadow", "DELETE", RouteKind::kLessons},
      {"/v1/lessons/{name}/health", "GET", RouteKind::kLessons}};
  return kRoutes;
}

bool is_path_of(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && !path.empty()) {
    const std::size_t pattern_end = pattern.find('/', 1);
    const std::size_t path_end = path.find('/', 1);
    const std::string_view wanted = pattern.substr(0, pattern_end);
    const std::string_view given = path.substr(0, path_end);
    const bool fits = wanted.starts_with("/{") || wanted.starts_with("/:") ? given.size() > 1 && given.front() == '/'
                                                                           : wanted == given;
    if (!fits) return false;
    pattern.remove_prefix(wanted.size());
    path.remove_prefix(given.size());
  }
  return pattern.empty() && path.empty();
}

bool is_for_decisions(RouteKind kind) {
  return kind == RouteKind::kSemif || kind == RouteKind::kInvocations || kind == RouteKind::kSystemOne ||
         kind == RouteKind::kDecisions || kind == RouteKind::kChat;
}

const Route* find_route(std::string_view path) {
  for (const Route& route : known_routes()) {
    if (is_path_of(route.path, path)) return &route;
  }
  return nullptr;
}

bool takes(const Route& route, std::string_view method) {
  return method == route.method || (method == "HEAD" && std::string_view(route.method) == "GET");
}

std::string allowed_methods(const Route& route) {
  return std::string_view(route.method) == "GET" ? "GET, HEAD" : route.method;
}

std::string nearest_path(std::string_view path, const std::vector<Route>& routes) {
  if (path.size() > kShownPathBytesMax) return "";
  std::string lower(path);
  std::transform(lower.begin(), lower.end(), lower.begin(), ascii_lower);
  std::string nearest;
  std::size_t least = 4;  // further away is no longer a slip
  for (const Route& route : routes) {
    if (std::string_view(route.path).size() <= least) continue;  // anything short is near to it
    const std::size_t distance = edit_distance(lower, route.path);
    if (distance >= least) continue;
    least = distance;
    nearest = route.path;
  }
  // Where a chat server's route has a twin of ours, ours is meant: "/models" and "/v1/models".
  std::string twin = "/v1" + nearest;
  if (!nearest.empty() && find_route(nearest) == nullptr && find_route(twin) != nullptr) return twin;
  if (!nearest.empty()) return nearest;
  // What other servers call the same things, and what stands behind another prefix.
  using Name = std::pair<std::string_view, const char*>;
  constexpr std::array<Name, 8> kNames = {{{"systemone", "/v1/systemone"},
                                           {"decisions", "/v1/decisions"},
                                           {"decision", "/v1/decide"},
                                           {"decide", "/v1/decide"},
                                           {"semif", "/v1/decide"},
                                           {"classify", "/v1/decide"},
                                           {"completions", "/v1/chat/completions"},
                                           {"models", "/v1/models"}}};
  for (const auto& [name, known] : kNames) {
    if (lower.find(name) != std::string::npos) return known;
  }
  return "";
}

std::string no_route_text(std::string_view path, const std::vector<Route>& routes) {
  // A path is any bytes; the text goes into JSON and must not be cut within a character.
  std::string_view shown = path.substr(0, kShownPathBytesMax);
  if (const auto bad = first_invalid_utf8(shown); bad.has_value()) shown = shown.substr(0, *bad);
  std::string message = "no route " + std::string(shown);
  const std::string nearest = nearest_path(path, routes);
  const auto meant = std::find_if(routes.begin(), routes.end(), [&](const Route& one) { return one.path == nearest; });
  if (meant != routes.end()) return message + "; did you mean " + meant->method + " " + nearest + "?";
  message += "; this server has";
  for (const Route& route : known_routes()) message += std::string(" ") + route.method + " " + route.path;
  return message;
}

}  // namespace assay::server
