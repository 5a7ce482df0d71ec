// The one file that knows the HTTP library. It turns its requests into HttpRequests and HttpReplies into its replies.
// Invariant: `params` lives as long as `context`, whose middleware keeps a reference to it.
#include "server/http_server.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "common.h"
#include "log.h"
#include "server-http.h"

namespace assay::server {
namespace {

// The layer below writes each CORS header with the text from its settings, and drops a header whose text no HTTP header
// can have. A lone line feed is such a text; an empty one would be sent as an empty header.
constexpr const char* kNoHeader = "\n";
// Every path: Routes says itself what it does not know, and names what the client may have meant.
constexpr const char* kAnyPath = "/.*";

common_params params_of(const HttpServerOptions& options) {
  common_params params;
  params.hostnames = {options.host};
  params.port = options.port;
  params.api_keys = options.api_keys;
  params.n_threads_http = options.threads;
  params.timeout_read = options.read_timeout_seconds;
  params.timeout_write = options.write_timeout_seconds;
  params.cors_origins = kNoHeader;
  params.cors_methods = kNoHeader;
  params.cors_headers = kNoHeader;
  params.cors_credentials = false;
  params.ui = false;
  return params;
}

Status check_options(const HttpServerOptions& options) {
  if (options.host.empty()) return invalid_argument("host", "host must not be empty");
  if (options.port < 0 || options.port > 65535) return invalid_argument("port", "port must be 0..65535");
  if (options.threads < 1) return invalid_argument("threads", "threads must be at least 1");
  if (options.read_timeout_seconds < 1) return invalid_argument("read_timeout_seconds", "must be at least 1");
  if (options.write_timeout_seconds < 1) return invalid_argument("write_timeout_seconds", "must be at least 1");
  for (const std::string& key : options.api_keys) {
    if (key.empty()) return invalid_argument("api_keys", "an API key must not be empty");
  }
  return {};
}

HttpRequest request_of(const char* method, const server_http_req& from) {
  HttpRequest request{.method = method, .path = from.path, .headers = {}, .body = from.body, .disconnected = {}};
  // A copy: what it points to lives as long as the layer's request only. It holds the socket's number, and looks
  // whether the other side has closed.
  request.disconnected = from.should_stop;
  request.headers.assign(from.headers.begin(), from.headers.end());
  return request;
}

// The layer below puts its own body into every 404. Our text, one line of JSON, goes into this header instead.
constexpr const char* kErrorHeader = "x-error";

server_http_res_ptr response_of(HttpReply reply) {
  auto response = std::make_unique<server_http_res>();
  if (reply.status == 404) response->headers[kErrorHeader] = reply.body;
  response->status = reply.status;
  response->content_type = std::move(reply.content_type);
  response->data = std::move(reply.body);
  for (auto& [name, value] : reply.headers) response->headers[name] = std::move(value);
  return response;
}

server_http_res_ptr empty_response(int status) {
  HttpReply reply;
  reply.status = status;
  return response_of(std::move(reply));
}

}  // namespace

struct HttpServer::Listener {
  explicit Listener(const HttpServerOptions& options) : params(params_of(options)) {}

  server_http_res_ptr answer(const char* method, const server_http_req& request) const {
    if (request.should_stop()) return empty_response(http_status(ErrorCode::kCancelled));
    Routes* target = routes.load();
    if (target == nullptr) return empty_response(http_status(ErrorCode::kUnavailable));
    return response_of(target->handle(request_of(method, request)));
  }

  const common_params params;
  server_http_context context;  // thread-safe once started
  std::atomic<Routes*> routes{nullptr};
  std::mutex stop_mutex;
  bool stopped = false;  // guarded by stop_mutex
};

HttpServer::HttpServer(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::open(const HttpServerOptions& options) {
  const Status checked = check_options(options);
  if (!checked.ok()) return checked.error();
  common_log_set_verbosity_thold(LOG_LEVEL_WARN);
  const Error unbound{ErrorCode::kIo,
                      "cannot listen on " + options.host + ":" + std::to_string(options.port) +
                          "; is the port taken, or the host not an address of this machine?",
                      ""};
  try {
    auto listener = std::make_unique<Listener>(options);
    const Listener* target = listener.get();
    if (!listener->context.init(listener->params)) return unbound;
    listener->context.get(kAnyPath, [target](const server_http_req& r) { return target->answer("GET", r); });
    listener->context.post(kAnyPath, [target](const server_http_req& r) { return target->answer("POST", r); });
    listener->context.del(kAnyPath, [target](const server_http_req& r) { return target->answer("DELETE", r); });
    if (!listener->context.start()) return unbound;
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(listener)));
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, unbound.message + " (" + error.what() + ")", ""};
  }
}

void HttpServer::set_ready(Routes& routes) {
  listener_->routes.store(&routes);
  listener_->context.is_ready.store(true);
}

int HttpServer::port() const { return listener_->context.port; }

std::string HttpServer::address() const {
  const std::vector<std::string>& addresses = listener_->context.listening_addresses;
  return addresses.empty() ? "" : addresses.front();
}

void HttpServer::stop() {
  const std::lock_guard<std::mutex> lock(listener_->stop_mutex);
  if (listener_->stopped) return;
  listener_->stopped = true;
  listener_->context.stop();
  listener_->context.join();
}

}  // namespace assay::server
