// The one file that knows the HTTP library.
//
// A request: its head is read -> before_body() -> answer_body() when a body comes -> the library writes what tell() put
// into its response -> finish_headers(). What the library refuses itself passes answer_library_error() instead.
#include "server/http/http_protocol.h"

#include <cpp-httplib/httplib.h>

#include <limits>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "server/http/body_bytes.h"
#include "server/http/body_encoding.h"
#include "server/http/body_intake.h"
#include "server/http/cors.h"
#include "server/http/form_body.h"
#include "server/http/layer_replies.h"
#include "server/http/listening.h"
#include "server/http/path_prefix.h"

namespace assay::server {
namespace {

using Handled = httplib::Server::HandlerResponse;

// Every path: Routes says itself what it does not know. The library gives longer ones to no handler.
constexpr const char* kAnyPath = "[\\s\\S]*";
constexpr std::size_t kPathBytesMax = CPPHTTPLIB_REGEX_ROUTE_PATH_MAX_LENGTH;

// What the thread at work knows of its connection and request. The library's callbacks get its request and response
// only, and they run on that thread: hence the pointer below, which is never seen by another thread.
struct Exchange {
  Connection& connection;
  const std::atomic<bool>& is_last;
  const std::string& path_prefix;
  std::string coding = {};    // Content-Encoding, kept from the library, which would refuse it
  bool is_cut = false;        // only the connection's end tells where this reply ends
  bool body_left = true;      // bytes of the request may still be unread, so the connection cannot go on
  bool head_checked = false;  // refuse_head() has been asked
  bool answered = false;      // the response is ours, not the library's
  bool is_outside = false;    // the path does not begin with the prefix
};
thread_local Exchange* at_work = nullptr;

class ConnectionStream final : public httplib::Stream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}

  bool is_readable() const override { return connection_.has_bytes(); }
  bool wait_readable() const override { return true; }  // read() and write() wait
  bool wait_writable() const override { return true; }
  bool is_peer_alive() const override { return !is_peer_gone(connection_.socket()); }
  ssize_t read(char* to, size_t size) override { return connection_.read(to, size); }
  ssize_t write(const char* from, size_t size) override {
    return connection_.write({from, size}) ? static_cast<ssize_t>(size) : -1;
  }
  const char* buffered_data(size_t& size) const override {
    const std::string_view bytes = connection_.buffered();
    size = bytes.size();
    return bytes.empty() ? nullptr : bytes.data();
  }
  void consume_buffered(size_t size) override { connection_.consume(size); }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return connection_.socket(); }
  time_t duration() const override { return 0; }

 private:
  Connection& connection_;
};

HttpRequest request_of(const httplib::Request& from) {
  const std::optional<std::string_view> path = behind_prefix(path_of_target(from.path), at_work->path_prefix);
  at_work->is_outside = !path.has_value();
  HttpRequest request;
  request.method = from.method;
  request.path = std::string(path.value_or(from.path));
  request.headers.assign(from.headers.begin(), from.headers.end());
  if (const std::size_t mark = from.target.find('?'); mark != std::string::npos) {
    request.query_text = from.target.substr(mark + 1);
    request.query.assign(from.params.begin(), from.params.end());
  }
  request.disconnected = [socket = at_work->connection.socket()] { return is_peer_gone(socket); };
  return request;
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") || request.get_header_value_u64("Content-Length") > 0;
}

bool has_token(const httplib::Headers& headers, const char* name, const char* token) {
  return httplib::detail::has_header_token(headers, name, token);
}

// The library gives such a request up at its first line, without a path; any other that it gives up has a wrong line,
// or a path.
bool has_unknown_method(const httplib::Request& from) {
  return from.path.empty() && httplib::detail::fields::is_token(from.method) && from.target.starts_with('/') &&
         httplib::detail::fields::is_request_target(from.target) &&
         (from.version == "HTTP/1.1" || from.version == "HTTP/1.0");
}

// Puts our reply into the library's response.
void tell(HttpReply reply, const httplib::Request& request, httplib::Response& response) {
  at_work->answered = true;
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  if (!reply.stream) {
    if (!reply.content_type.empty()) response.set_content(std::move(reply.body), reply.content_type);
    return;
  }
  auto provider = [stream = std::move(reply.stream)](std::size_t /*offset*/, httplib::DataSink& sink) {
    bool is_there = true;
    const bool is_whole = stream([&](std::string_view piece) {
      is_there = is_there && sink.is_writable() && sink.write(piece.data(), piece.size());
      return is_there;
    });
    if (is_there && is_whole) sink.done();
    return is_there && is_whole;  // false: the connection ends, without a last chunk
  };
  at_work->is_cut = request.version == "HTTP/1.0";
  if (at_work->is_cut) return response.set_content_provider(reply.content_type, std::move(provider));
  response.set_chunked_content_provider(reply.content_type, std::move(provider));
}

// What makes a request's length uncertain, or its body unreadable.
std::optional<HttpReply> refuse_framing(const httplib::Request& from, const HttpRequest& request) {
  const bool has_coding = from.has_header("Transfer-Encoding");
  const std::size_t lengths = from.get_header_value_count("Content-Length");
  if (lengths > 1 || (lengths > 0 && has_coding)) {
    return layer_refusal(request, 400, invalid_argument("", "the length of the body is given more than once"));
  }
  if (has_coding && (from.get_header_value_count("Transfer-Encoding") > 1 ||
                     !has_token(from.headers, "Transfer-Encoding", "chunked") ||
                     from.get_header_value("Transfer-Encoding").find(',') != std::string::npos)) {
    return layer_refusal(request, 400, invalid_argument("", "of the transfer codings only chunked is taken"));
  }
  return std::nullopt;
}

std::optional<HttpReply> refuse_body_kind(const httplib::Request& from, const HttpRequest& request) {
  if (from.has_header("Expect") && !has_token(from.headers, "Expect", "100-continue")) {
    return layer_refusal(request, 417, invalid_argument("", "the only expectation that can be met is 100-continue"));
  }
  if (!is_known_encoding(at_work->coding)) {
    return layer_refusal(request, 415, decode_body(at_work->coding, "", 0).error());
  }
  // The library takes a form apart as it comes.
  if (has_body(from) && from.is_multipart_form_data() && !at_work->coding.empty()) {
    return layer_refusal(request, 415, {ErrorCode::kMediaType, "a form is not taken with a Content-Encoding", ""});
  }
  return std::nullopt;
}

// What names a part counts as the part does, so that very many empty ones have a limit too.
bool read_form(const httplib::ContentReader& read, const std::function<bool(std::size_t)>& takes,
               HttpRequest& request) {
  FormBody form;
  const bool is_whole = read(
      [&](const httplib::FormData& part) {
        if (!takes(part.name.size() + part.filename.size() + part.content_type.size())) return false;
        form.begin(part.name, part.filename, part.content_type);
        return true;
      },
      [&](const char* piece, std::size_t size) {
        if (!takes(size)) return false;
        form.add({piece, size});
        return true;
      });
  if (is_whole) std::move(form).finish(request);
  return is_whole;
}

}  // namespace

// The library without its connection loop.
class HttpProtocol::Library final : public httplib::Server {
 public:
  explicit Library(const HttpProtocolOptions& given);

  int listen(const std::string& host, int wanted_port, std::function<void(int)> accept);
  void stop_listening();
  void set_routes(Routes& given) { routes_.store(&given); }
  Then serve(Connection& connection, const std::atomic<bool>& is_last);

 private:
  struct InlineQueue final : httplib::TaskQueue {
    bool enqueue(std::function<void()> accept) override {
      accept();
      return true;
    }
    void shutdown() override {}
  };

  bool process_and_close_socket(socket_t socket) override {
    on_accept_(socket);
    return true;
  }

  std::optional<HttpReply> refuse_head(const httplib::Request& from, const HttpRequest& request);
  Handled before_body(const httplib::Request& from, httplib::Response& to);
  int before_continue(const httplib::Request& from, httplib::Response& to);
  void answer_body(const httplib::Request& from, httplib::Response& to, const httplib::ContentReader& read);
  std::optional<HttpReply> take_apart(HttpRequest& request, BodyBytes::Share& share) const;
  void answer_library_error(const httplib::Request& from, httplib::Response& to) const;
  void finish_headers(const httplib::Request& from, httplib::Response& to) const;

  const HttpProtocolOptions options_;
  const Cors cors_;
  BodyBytes body_bytes_;
  std::atomic<Routes*> routes_{nullptr};
  std::function<void(int)> on_accept_;
  std::thread accepting_;
};

HttpProtocol::Library::Library(const HttpProtocolOptions& given)
    : options_(given), cors_(given.cors_origins), body_bytes_(given.all_bodies_bytes_max) {
  new_task_queue = [] { return new InlineQueue; };
  set_tcp_nodelay(true);
  set_ipv6_v6only(options_.ipv6_alone);
  set_payload_max_length(std::numeric_limits<std::size_t>::max());  // answer_body() has the limit
  set_socket_options([](socket_t socket) { httplib::set_socket_opt(socket, SOL_SOCKET, SO_REUSEADDR, 1); });
  set_pre_routing_handler([this](const auto& from, auto& to) { return before_body(from, to); });
  set_expect_100_continue_handler([this](const auto& from, auto& to) { return before_continue(from, to); });
  set_error_handler([this](const httplib::Request& from, httplib::Response& to) {
    answer_library_error(from, to);
    return Handled::Handled;
  });
  set_post_routing_handler([this](const auto& from, auto& to) { finish_headers(from, to); });
  const httplib::Server::HandlerWithContentReader answer = [this](const httplib::Request& from, httplib::Response& to,
                                                                  const httplib::ContentReader& read) {
    answer_body(from, to, read);
  };
  Post(kAnyPath, answer).Put(kAnyPath, answer).Patch(kAnyPath, answer).Delete(kAnyPath, answer);
}

int HttpProtocol::Library::listen(const std::string& host, int wanted_port, std::function<void(int)> accept) {
  on_accept_ = std::move(accept);
  int port = wanted_port;
  if (is_unix_socket_path(host)) {
    set_address_family(AF_UNIX);
    if (!bind_to_port(host, 1)) return -1;  // the port is not looked at, but must not be 0
  } else if (wanted_port == 0) {
    port = bind_to_any_port(host);
    if (port < 0) return -1;
  } else if (!bind_to_port(host, wanted_port)) {
    return -1;
  }
  accepting_ = std::thread([this] { listen_after_bind(); });
  wait_until_ready();
  return is_running() ? port : -1;
}

void HttpProtocol::Library::stop_listening() {
  stop();
  if (accepting_.joinable()) accepting_.join();
}

HttpProtocol::Then HttpProtocol::Library::serve(Connection& connection, const std::atomic<bool>& is_last) {
  Exchange exchange{.connection = connection, .is_last = is_last, .path_prefix = options_.path_prefix};
  ConnectionStream stream(connection);
  // No reply of ours is sent in parts because a client asks for a range.
  const auto prepare = [&exchange](httplib::Request& request) {
    request.ranges.clear();
    exchange.coding = request.get_header_value("Content-Encoding");
    request.headers.erase("Content-Encoding");
  };
  bool closed = false;
  connection.begin_head();
  at_work = &exchange;
  const bool served =
      serve_guarded([&] { return process_request(stream, "", 0, "", 0, is_last.load(), closed, prepare); });
  at_work = nullptr;
  if (served && !closed) return Then::kGoOn;
  // The library says nothing when not even a first line came.
  if (connection.timed_out() && connection.bytes_read() > 0 && connection.bytes_written() == 0) {
    connection.try_write(bytes_of_refusal(408, slow_request()));
  }
  return exchange.body_left ? Then::kEndUnread : Then::kEnd;
}

std::optional<HttpReply> HttpProtocol::Library::refuse_head(const httplib::Request& from, const HttpRequest& request) {
  std::optional<HttpReply> reply = refuse_framing(from, request);
  if (!reply && at_work->is_outside) reply = outside_reply(request, options_.path_prefix);
  if (!reply) reply = cors_.preflight(request);
  Routes* target = routes_.load();
  if (!reply && target == nullptr) reply = loading_reply(request);
  if (!reply) reply = target->refuse_early(request);
  if (!reply) reply = refuse_body_kind(from, request);
  if (!reply && from.get_header_value_u64("Content-Length") > options_.body_bytes_max) {
    reply = layer_refusal(request, 413, too_large(options_.body_bytes_max));
  }
  if (!reply && from.get_header_value_u64("Content-Length") > kLargeBodyBytes) reply = target->refuse_large(request);
  return reply;
}

int HttpProtocol::Library::before_continue(const httplib::Request& from, httplib::Response& to) {
  at_work->head_checked = true;
  std::optional<HttpReply> reply = refuse_head(from, request_of(from));
  if (!reply) return httplib::StatusCode::Continue_100;
  tell(std::move(*reply), from, to);
  return to.status;
}

Handled HttpProtocol::Library::before_body(const httplib::Request& from, httplib::Response& to) {
  const HttpRequest request = request_of(from);
  std::optional<HttpReply> reply;
  if (!at_work->head_checked) reply = refuse_head(from, request);
  const bool body_comes = has_body(from);
  const bool takes_body =
      from.method == "POST" || from.method == "PUT" || from.method == "PATCH" || from.method == "DELETE";
  if (!reply && body_comes && takes_body && from.path.size() <= kPathBytesMax) return Handled::Unhandled;
  at_work->body_left = body_comes;
  if (!reply) reply = routes_.load()->handle(request);
  tell(std::move(*reply), from, to);
  return Handled::Handled;
}

void HttpProtocol::Library::answer_body(const httplib::Request& from, httplib::Response& to,
                                        const httplib::ContentReader& read) {
  HttpRequest request = request_of(from);
  BodyBytes::Share share(body_bytes_);
  BodyIntake intake(request, share, options_.body_bytes_max, *routes_.load());
  at_work->connection.begin_body();
  const auto takes = [&](std::size_t size) { return intake.takes(size); };
  const auto append = [&](const char* piece, std::size_t size) { return intake.append({piece, size}); };
  const bool is_whole = from.is_multipart_form_data() ? read_form(read, takes, request) : read(append);
  at_work->body_left = !is_whole;
  std::optional<HttpReply> reply = intake.refusal();
  if (!reply && !is_whole) reply = reply_for_status(request, 400, at_work->connection);
  if (!reply && !at_work->coding.empty()) reply = take_apart(request, share);
  if (!reply && request.disconnected()) {
    reply = layer_refusal(request, 499, {ErrorCode::kCancelled, "the client has gone", ""});
  }
  if (!reply) reply = routes_.load()->handle(request);
  tell(std::move(*reply), from, to);
}

// The body as it was before it was compressed.
std::optional<HttpReply> HttpProtocol::Library::take_apart(HttpRequest& request, BodyBytes::Share& share) const {
  Result<std::string> body = decode_body(at_work->coding, request.body, options_.body_bytes_max);
  if (!body.ok()) return layer_refusal(request, http_status(body.error().code), body.error());
  if (!share.add(body->size())) {
    return layer_refusal(request, 503, too_many_bodies());
  }
  request.body = std::move(body).value();
  return std::nullopt;
}

void HttpProtocol::Library::answer_library_error(const httplib::Request& from, httplib::Response& to) const {
  if (at_work->answered) return;
  HttpRequest request = request_of(from);
  std::optional<HttpReply> reply;
  if (has_unknown_method(from)) {
    request.path = httplib::decode_path_component(from.target.substr(0, from.target.find_first_of("?#")));
    Routes* target = routes_.load();
    reply = target == nullptr ? loading_reply(request) : target->refuse_early(request);
  }
  if (!reply) reply = reply_for_status(request, to.status, at_work->connection);
  tell(std::move(*reply), from, to);
}

void HttpProtocol::Library::finish_headers(const httplib::Request& from, httplib::Response& to) const {
  const bool client_goes_on = from.version == "HTTP/1.0" ? has_token(from.headers, "Connection", "keep-alive")
                                                         : !has_token(from.headers, "Connection", "close");
  const bool goes_on = client_goes_on && !at_work->body_left && !at_work->is_cut && !at_work->is_last.load();
  for (const char* name : {"Connection", "Keep-Alive", "Accept-Ranges"}) to.headers.erase(name);
  to.set_header("Connection", goes_on ? "keep-alive" : "close");
  if (goes_on) to.set_header("Keep-Alive", "timeout=" + std::to_string(options_.keep_alive_seconds));
  if (to.status == httplib::StatusCode::NoContent_204) to.headers.erase("Content-Length");
  for (const auto& [name, value] : cors_.headers_for(from.get_header_value("Origin"))) to.set_header(name, value);
}

HttpProtocol::HttpProtocol(const HttpProtocolOptions& options) : library_(std::make_unique<Library>(options)) {}

HttpProtocol::~HttpProtocol() { stop_listening(); }

int HttpProtocol::listen(const std::string& host, int port, std::function<void(int socket)> on_accept) {
  return library_->listen(host, port, std::move(on_accept));
}

void HttpProtocol::stop_listening() { library_->stop_listening(); }

void HttpProtocol::set_routes(Routes& routes) { library_->set_routes(routes); }

HttpProtocol::Then HttpProtocol::serve(Connection& connection, const std::atomic<bool>& is_last) {
  return library_->serve(connection, is_last);
}

}  // namespace assay::server
