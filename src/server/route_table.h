#pragma once
// Which paths there are, and what stands behind each: the one list for dispatch, metrics and "did you mean".

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::server {

// What answers on a path.
enum class RouteKind {
  kHealth,
  kPing,
  kModels,
  kMetrics,
  kPage,         // a page of web_pages.h
  kSemif,        // SemIf's decisions
  kInvocations,  // the wire that the body's keys say, SemIf by default
  kSystemOne,
  kDecisions,  // OpenAI decisions, or System One where the body has a state
  kChat,       // a chat completion, or one decision in its shape
  kForeign,    // what a chat server has beside ours (chat_server.h)
  kEndpoint,   // SageMaker's own address for /invocations (sagemaker_front.h)
  kAsyncReply,
  kExecutionParameters,  // for batch transform
  kOip,                  // Open Inference Protocol (oip.h)
  kVertex,               // Vertex AI's prediction protocol (vertex_front.h)
  kLessons,              // feedback, kept decisions and lessons (lesson_routes.h)
  kExport,               // kept decisions as a stream of lines (decision_export.h)
};

// A path that this server knows and the method it takes ("GET", "POST" or "DELETE"; HEAD goes where GET goes). A part
// of it in braces, as in "/v2/models/{model}", stands for any one part.
struct Route {
  const char* path;
  const char* method;
  RouteKind kind;
  std::size_t foreign = 0;  // its place in ChatServer::routes()
};

const std::vector<Route>& known_routes();
// Whether a path is what a route's path stands for: part by part the same, and anything but nothing for {part} or
// :part.
bool is_path_of(std::string_view route_path, std::string_view path);
// Whether decisions are made there.
bool is_for_decisions(RouteKind kind);
// nullptr when there is none.
const Route* find_route(std::string_view path);
bool takes(const Route& route, std::string_view method);
// For the Allow header: "GET, HEAD" or "POST".
std::string allowed_methods(const Route& route);
// The known path that a client most likely meant; empty when none is near.
std::string nearest_path(std::string_view path, const std::vector<Route>& routes = known_routes());
// What to say of a path that is not known: which one was meant, or which there are.
std::string no_route_text(std::string_view path, const std::vector<Route>& routes = known_routes());

}  // namespace assay::server
