// What tools/server/server.cpp and server-http.cpp do around a handler.
#include "server/llama/llama_handlers.h"

#include <server-common.h>
#include <server-http.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "server/http/ascii.h"

namespace assay::server {
namespace {

server_http_res_ptr error_reply(const std::string& message, error_type type) {
  auto reply = std::make_unique<server_http_res>();
  const json error = format_error_response(message, type);
  reply->status = json_value(error, "code", 500);
  reply->data = safe_json_to_str({{"error", error}});
  return reply;
}

// Handlers throw for what a client does wrong, too.
server_http_res_ptr call(const LlamaHandler& handler, const server_http_req& request) {
  try {
    return handler(request);
  } catch (const std::invalid_argument& thrown) {
    return error_reply(thrown.what(), ERROR_TYPE_INVALID_REQUEST);
  } catch (const common_json_error& thrown) {
    return error_reply(thrown.what(), ERROR_TYPE_INVALID_REQUEST);
  } catch (const std::exception& thrown) {
    return error_reply(thrown.what(), ERROR_TYPE_SERVER);
  } catch (...) {
    return error_reply("an error of unknown type", ERROR_TYPE_SERVER);
  }
}

// A request and its reply as llama.cpp has them; the reply refers to the request.
struct Exchange {
  Exchange(const ChatRoute& route, const HttpRequest& from, const std::string& path_prefix, std::function<bool()> stop)
      : should_stop(std::move(stop)),
        request{.params = {},
                .headers = {from.headers.begin(), from.headers.end()},
                .path = path_prefix + from.path,
                .query_string = from.query_text,
                .body = from.body,
                .files = {},
                .should_stop = should_stop} {
    for (const auto& [name, value] : from.query) request.params.emplace(name, value);
    for (const HttpFile& file : from.files) {
      request.files[file.field] = {{file.content.begin(), file.content.end()}, file.name, file.content_type};
    }
    const std::size_t colon = route.path.find(':');
    if (colon == std::string::npos) return;
    const std::size_t end = std::min(route.path.find('/', colon), route.path.size());
    request.params[route.path.substr(colon + 1, end - colon - 1)] = segment_of(route.path, from.path);
  }
  ~Exchange() {
    try {
      if (reply) reply->on_complete();
    } catch (const std::exception& thrown) {
      log_line(LogLevel::kWarn, std::string("the end of a chat reply failed: ") + thrown.what());
    }
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const std::function<bool()> should_stop;
  server_http_req request;
  server_http_res_ptr reply;  // destroyed before what it refers to
};

// Sends the pieces of a stream; the last is there, or the client has gone, when this returns. Whether it is whole: what
// is given up because the server ends has no last piece.
bool send_pieces(Exchange& exchange, const BodyWriter& write) {
  try {
    for (bool more = true; more;) {
      std::string piece;
      more = exchange.reply->next(piece);
      if (!piece.empty() && !write(piece)) return false;
    }
  } catch (const std::exception& thrown) {
    log_line(LogLevel::kError, std::string("a chat reply broke off: ") + thrown.what());
    return false;
  }
  return !exchange.should_stop();
}

// What our HTTP layer says itself; a proxied reply brings it along.
bool is_ours(std::string_view header) {
  constexpr std::array<std::string_view, 6> kNames = {"connection",  "keep-alive",   "date",
                                                      "retry-after", "x-request-id", "x-typesafe-request-id"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return equal_ignoring_case(header, name); });
}

}  // namespace

LlamaHandlers::LlamaHandlers() = default;
LlamaHandlers::~LlamaHandlers() = default;

void LlamaHandlers::add(const char* method, const char* path, LlamaHandler handler) {
  routes_.push_back({method, path});
  handlers_.push_back(std::move(handler));
}

void LlamaHandlers::replace(const char* method, const char* path, const LlamaHandler& handler) {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (routes_[i].path == path && routes_[i].method == method) handlers_[i] = handler;
  }
}

HttpReply LlamaHandlers::handle(std::size_t route, const HttpRequest& request) {
  HttpReply out;
  std::shared_ptr<ChatCalls::Call> at_work = calls_.begin(request.disconnected);
  if (!at_work) {
    out.status = 503;
    out.body = R"({"error": {"code": 503, "message": "the server is shutting down", "type": "unavailable_error"}})";
    return out;
  }
  auto exchange =
      std::make_shared<Exchange>(routes_[route], request, path_prefix_, [at_work] { return at_work->is_over(); });
  exchange->reply = call(handlers_[route], exchange->request);
  out.status = exchange->reply->status;
  out.content_type = exchange->reply->content_type;
  for (const auto& [name, value] : exchange->reply->headers) {
    if (!is_ours(name)) out.headers.emplace_back(name, value);
  }
  if (!exchange->reply->is_stream()) {
    out.body = std::move(exchange->reply->data);
    return out;
  }
  out.headers.emplace_back("X-Accel-Buffering", "no");
  out.stream = [exchange, at_work](const BodyWriter& write) { return send_pieces(*exchange, write); };
  return out;
}

server_http_res_ptr invalid_request_reply(const std::string& message) {
  return error_reply(message, ERROR_TYPE_INVALID_REQUEST);
}

}  // namespace assay::server
