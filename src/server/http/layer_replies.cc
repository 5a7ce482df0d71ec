#include "server/http/layer_replies.h"

#include <utility>

#include "server/http/request_ids.h"
#include "server/route_table.h"
#include "server/wires/openai_error.h"
#include "server/wires/systemone_error.h"
#include "server/wires/wire_reply.h"

namespace assay::server {
namespace {

RequestIds& request_ids() {
  static RequestIds ids(0);
  return ids;
}

// As the path's clients read errors. Where nothing is known of them it is the form that has most: llama-server's and
// OpenAI's clients find `error.message` in it.
std::string body_of(const std::string& path, const Error& error, int status) {
  const Route* route = find_route(path);
  switch (route == nullptr ? RouteKind::kForeign : route->kind) {
    case RouteKind::kDecisions:
    case RouteKind::kChat:
      return openai_refusal(error).body;
    case RouteKind::kSemif:
    case RouteKind::kInvocations:
    case RouteKind::kEndpoint:
    case RouteKind::kAsyncReply:
    case RouteKind::kLessons:
    case RouteKind::kExport:
      return error_body(error);
    default:
      return system_one_refusal(error, status).body;
  }
}

HttpReply reply_with(const HttpRequest& request, int status, std::string body) {
  HttpReply reply;
  reply.status = status;
  reply.body = std::move(body);
  std::string id = request_ids().id_of(request);
  reply.headers.emplace_back("x-typesafe-request-id", id);
  reply.headers.emplace_back("x-request-id", std::move(id));
  if (status == 503 || status == 429) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

}  // namespace

HttpReply layer_refusal(const HttpRequest& request, int status, const Error& error) {
  return reply_with(request, status, body_of(request.path, error, status));
}

HttpReply loading_reply(const HttpRequest& request) {
  if (request.path == "/ping") return reply_with(request, 503, "{\"status\": \"loading\"}");
  // As llama-server says it, too.
  if (request.path == "/health" || request.path == "/v1/health") {
    return reply_with(request, 503,
                      "{\"status\": \"loading\", \"error\": {\"code\": 503, \"message\": \"Loading model\", "
                      "\"type\": \"unavailable_error\"}}");
  }
  if (request.path == "/v2/health/live") return reply_with(request, 200, "{\"live\": true}");
  if (request.path == "/v2/health/ready") return reply_with(request, 503, "{\"ready\": false}");
  return layer_refusal(request, 503, Error{ErrorCode::kUnavailable, "the model is still loading", ""});
}

HttpReply outside_reply(const HttpRequest& request, const std::string& path_prefix) {
  return layer_refusal(request, 404, {ErrorCode::kNotFound, "every path here begins with " + path_prefix, ""});
}

HttpReply reply_for_status(const HttpRequest& request, int status, const Connection& connection) {
  // The library's limits for one header, and for their number.
  constexpr std::size_t kHeaderBytesMax = 8 * 1024;
  constexpr std::size_t kHeadersMax = 100;
  if (connection.timed_out()) return layer_refusal(request, 408, slow_request());
  const bool is_too_much = connection.bytes_read() > kHeaderBytesMax || request.headers.size() >= kHeadersMax;
  if (status == 400 && is_too_much) {
    return layer_refusal(request, 431,
                         invalid_argument("", "the headers are too large: at most 100 of 8 KiB each, 64 KiB in all"));
  }
  if (status == 414) return layer_refusal(request, 414, invalid_argument("", "the path is too long"));
  if (status == 416) return layer_refusal(request, 400, invalid_argument("", "the Range header cannot be read"));
  if (status >= 500) {
    return layer_refusal(request, 500, {ErrorCode::kInternal, "the request failed by a fault of the server", ""});
  }
  return layer_refusal(request, status, invalid_argument("", "this is no HTTP/1.1 request that can be understood"));
}

std::string bytes_of_refusal(int status, const Error& error) {
  const std::string body = error_body(error);
  const std::string id = request_ids().id_of({});
  std::string bytes = "HTTP/1.1 " + std::to_string(status) + " \r\n";  // the reason may be empty
  bytes += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  if (status == 503) bytes += "Retry-After: 1\r\n";
  bytes += "x-request-id: " + id + "\r\nx-typesafe-request-id: " + id + "\r\nConnection: close\r\n\r\n";
  return bytes + body;
}

Error slow_request() { return invalid_argument("", "the request took too long to arrive"); }

Error too_large(std::size_t bytes_max) {
  return {ErrorCode::kTooLong, "the body has more than " + std::to_string(bytes_max) + " bytes, which is the limit",
          ""};
}

Error too_many_bodies() { return {ErrorCode::kOverloaded, "too many large bodies at once", ""}; }

}  // namespace assay::server
