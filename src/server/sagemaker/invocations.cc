#include "server/sagemaker/invocations.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/wires/body_shape.h"

namespace assay::server {
namespace {

constexpr std::size_t kAttributesCharsMax = 1024;
constexpr std::size_t kShownRouteCharsMax = 100;

constexpr std::array<std::string_view, 35> kRoutes = {"/api/alpha/decisions",
                                                      "/api/v1/systemone",
                                                      "/apply-template",
                                                      "/audio/transcriptions",
                                                      "/chat/completions",
                                                      "/chat/completions/input_tokens",
                                                      "/completion",
                                                      "/completions",
                                                      "/decisions",
                                                      "/detokenize",
                                                      "/embedding",
                                                      "/embeddings",
                                                      "/infill",
                                                      "/openai/v1/chat/completions",
                                                      "/rerank",
                                                      "/reranking",
                                                      "/responses",
                                                      "/responses/input_tokens",
                                                      "/tokenize",
                                                      "/v1/audio/transcriptions",
                                                      "/v1/chat/completions",
                                                      "/v1/chat/completions/input_tokens",
                                                      "/v1/completions",
                                                      "/v1/decide",
                                                      "/v1/decisions",
                                                      "/v1/embeddings",
                                                      "/v1/messages",
                                                      "/v1/messages/count_tokens",
                                                      "/v1/rerank",
                                                      "/v1/reranking",
                                                      "/v1/responses",
                                                      "/v1/responses/input_tokens",
                                                      "/v1/systemone",
                                                      "/v1/tokenize",
                                                      "/v1/detokenize"};

// What "route=" says. It begins the header or follows a separator, so that "myroute=" is another attribute.
std::optional<std::string_view> named_route(std::string_view attributes) {
  constexpr std::string_view kKey = "route=";
  const auto ends = [](char c) { return c == ',' || c == ';' || c == ' ' || c == '\t'; };
  for (std::size_t at = attributes.find(kKey); at != std::string_view::npos; at = attributes.find(kKey, at + 1)) {
    if (at > 0 && !ends(attributes[at - 1])) continue;
    std::string_view route = attributes.substr(at + kKey.size());
    route = route.substr(0, static_cast<std::size_t>(std::find_if(route.begin(), route.end(), ends) - route.begin()));
    return route;
  }
  return std::nullopt;
}

bool is_visible(char c) { return c >= ' ' && c < '\x7F'; }

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kShownRouteCharsMax)) out += is_visible(c) ? c : '?';
  return out;
}

const char* path_of_body(std::string_view body) {
  const BodyShape shape = shape_of_body(body);
  if (shape.messages) return "/v1/chat/completions";
  if (shape.decisions || shape.questions_list || shape.questions_object) return kInvocationsPath;
  if (shape.documents) return "/v1/rerank";
  if (shape.prompt) return "/v1/completions";
  if (!shape.input) return kInvocationsPath;
  return shape.input_messages || shape.response_keys ? "/v1/responses" : "/v1/embeddings";
}

}  // namespace

bool is_invocation_route(std::string_view path) {
  return std::find(kRoutes.begin(), kRoutes.end(), path) != kRoutes.end();
}

Result<std::string> invocation_path(const HttpRequest& request) {
  const std::string* attributes = find_header(request, kCustomAttributesHeader);
  const std::optional<std::string_view> route =
      attributes == nullptr ? std::nullopt : named_route(std::string_view(*attributes));
  if (!route.has_value()) return std::string(path_of_body(request.body));
  if (is_invocation_route(*route)) return std::string(*route);
  return invalid_argument(kCustomAttributesHeader,
                          std::string(kCustomAttributesHeader) + ": route '" + shown(*route) +
                              "' is none that /invocations leads to, such as route=/v1/systemone");
}

std::string custom_attributes_of(const HttpRequest& request) {
  const std::string* attributes = find_header(request, kCustomAttributesHeader);
  if (attributes == nullptr || attributes->empty() || attributes->size() > kAttributesCharsMax) return "";
  return std::all_of(attributes->begin(), attributes->end(), is_visible) ? *attributes : "";
}

}  // namespace assay::server
