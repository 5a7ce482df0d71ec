// A connection is accepted, parked (idle_connections.h) until something comes, served by a thread
// (connection_workers.h) request by request (http_protocol.h), and parked again.
#include "server/http_server.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <utility>

#include "server/connection_workers.h"
#include "server/cors.h"
#include "server/http_protocol.h"
#include "server/idle_connections.h"
#include "server/layer_replies.h"
#include "server/listening.h"
#include "server/tls.h"

namespace assay::server {
namespace {

constexpr std::size_t kRefusedConnectionsMax = 256;
constexpr double kRefusedSeconds = 5;
// A client that asks again this soon is waited for by the thread that served it.
constexpr int kLingerMs = 10;
// How long a client may go on sending what nobody reads, so that it sees the reply.
constexpr std::chrono::milliseconds kUnreadMs{5000};

HttpProtocolOptions protocol_options(const HttpServerOptions& options) {
  constexpr std::size_t kBodiesBytesMin = std::size_t{256} * 1024 * 1024;
  return {.body_bytes_max = options.body_bytes_max,
          .all_bodies_bytes_max = std::max(4 * options.body_bytes_max, kBodiesBytesMin),
          .keep_alive_seconds = options.keep_alive_seconds,
          .cors_origins = options.cors_origins,
          .path_prefix = options.path_prefix};
}

WorkerLimits worker_limits(const HttpServerOptions& options) {
  const auto kept = static_cast<std::size_t>(options.threads);
  return {.threads_kept = kept, .threads_max = kept + kThreadsMore};
}

Status check_options(const HttpServerOptions& options) {
  if (options.host.empty()) return invalid_argument("host", "host must not be empty");
  if (options.port < 0 || options.port > 65535) return invalid_argument("port", "port must be 0..65535");
  if (options.threads < 1) return invalid_argument("threads", "threads must be at least 1");
  if (options.connections_max < 1) return invalid_argument("connections_max", "connections_max must be at least 1");
  if (options.keep_alive_seconds < 1) return invalid_argument("keep_alive_seconds", "must be at least 1");
  if (options.read_timeout_seconds < 1) return invalid_argument("read_timeout_seconds", "must be at least 1");
  if (options.write_timeout_seconds < 1) return invalid_argument("write_timeout_seconds", "must be at least 1");
  return Cors::check(options.cors_origins);
}

}  // namespace

struct HttpServer::Listener {
  Listener(const HttpServerOptions& given, std::unique_ptr<TlsContext> context)
      : options(given),
        tls(std::move(context)),
        connections_max(allow_connections(given.connections_max)),
        protocol(protocol_options(given)),
        workers(worker_limits(given), [this](std::unique_ptr<Connection> one) { serve(std::move(one)); }),
        idle([this](std::unique_ptr<Connection> one) { hand_over(std::move(one)); }) {}

  bool listen();
  void stop();
  void accept(int socket);
  void hand_over(std::unique_ptr<Connection> connection);
  void serve(std::unique_ptr<Connection> connection);

  const HttpServerOptions options;
  const std::unique_ptr<TlsContext> tls;
  const std::size_t connections_max;
  std::atomic<std::size_t> connections_open{0};
  std::atomic<bool> stopping{false};
  int port = 0;
  std::once_flag stopped;
  // In the order in which connections pass, so that none outlives what it passes on to.
  HttpProtocol protocol;
  ConnectionWorkers workers;
  IdleConnections idle;
};

bool HttpServer::Listener::listen() {
  if (is_unix_socket_path(options.host)) remove_dead_socket(options.host);
  port = protocol.listen(options.host, options.port, [this](int socket) { accept(socket); });
  return port >= 0;
}

void HttpServer::Listener::stop() {
  stopping.store(true);
  idle.stop();
  workers.finish();
  protocol.stop_listening();
  if (is_unix_socket_path(options.host)) remove_dead_socket(options.host);
}

void HttpServer::Listener::accept(int socket) {
  const bool is_refused = connections_open.load() >= connections_max;
  std::unique_ptr<Transport> transport = tls == nullptr ? plain_transport(socket) : tls->transport(socket);
  if (stopping.load() || transport == nullptr || connections_open.load() >= connections_max + kRefusedConnectionsMax) {
    close(socket);
    return;
  }
  const ConnectionLimits limits{.read_seconds = static_cast<double>(options.read_timeout_seconds),
                                .write_seconds = static_cast<double>(options.write_timeout_seconds)};
  auto connection = std::make_unique<Connection>(socket, std::move(transport), limits, connections_open);
  if (is_refused) connection->mark_refused();
  idle.add(std::move(connection), is_refused ? kRefusedSeconds : options.keep_alive_seconds);
}

// Called by the thread that watches all idle connections, so nothing here waits.
void HttpServer::Listener::hand_over(std::unique_ptr<Connection> connection) {
  const std::unique_ptr<Connection> back = workers.add(std::move(connection));
  if (back != nullptr) back->try_write(bytes_of_refusal(503, {ErrorCode::kOverloaded, "no thread is free", ""}));
}

void HttpServer::Listener::serve(std::unique_ptr<Connection> connection) {
  if (!connection->shake_hands()) {
    connection->finish(std::chrono::milliseconds(0));
    return;
  }
  if (connection->is_refused()) {
    connection->write(bytes_of_refusal(503, {ErrorCode::kOverloaded, "too many connections are open", ""}));
    connection->finish(kUnreadMs);
    return;
  }
  do {
    const HttpProtocol::Then then = protocol.serve(*connection, stopping);
    if (then != HttpProtocol::Then::kGoOn) {
      connection->finish(then == HttpProtocol::Then::kEndUnread ? kUnreadMs : std::chrono::milliseconds(0));
      return;
    }
  } while (connection->has_bytes() || connection->wait_for_bytes(kLingerMs));
  idle.add(std::move(connection), options.keep_alive_seconds);
}

HttpServer::HttpServer(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::open(const HttpServerOptions& options) {
  const Status checked = check_options(options);
  if (!checked.ok()) return checked.error();
  std::unique_ptr<TlsContext> tls;
  if (!options.ssl_certificate_file.empty() || !options.ssl_key_file.empty()) {
    Result<std::unique_ptr<TlsContext>> opened = TlsContext::open(options.ssl_certificate_file, options.ssl_key_file);
    if (!opened.ok()) return opened.error();
    tls = std::move(*opened);
  }
  const std::string place =
      is_unix_socket_path(options.host) ? options.host : options.host + ":" + std::to_string(options.port);
  const Error unbound{ErrorCode::kIo,
                      "cannot listen on " + place + "; is the port taken, or the host not an address of this machine?",
                      ""};
  try {
    std::unique_ptr<HttpServer> server(new HttpServer(std::make_unique<Listener>(options, std::move(tls))));
    if (!server->listener_->listen()) return unbound;
    return server;
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, unbound.message + " (" + error.what() + ")", ""};
  }
}

void HttpServer::set_ready(Routes& routes) { listener_->protocol.set_routes(routes); }

int HttpServer::port() const { return listener_->port; }

std::string HttpServer::address() const {
  return address_of(listener_->options.host, listener_->port, listener_->tls != nullptr);
}

void HttpServer::stop() {
  std::call_once(listener_->stopped, [this] { listener_->stop(); });
}

}  // namespace assay::server
