// A connection is accepted, parked (idle_connections.h) until something comes, served by a thread
// (connection_workers.h) request by request (http_protocol.h), and parked again.
#include "server/http/http_server.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "server/http/connection_workers.h"
#include "server/http/cors.h"
#include "server/http/http_protocol.h"
#include "server/http/idle_connections.h"
#include "server/http/layer_replies.h"
#include "server/http/listening.h"
#include "server/http/tls.h"

namespace assay::server {
namespace {

constexpr std::size_t kRefusedConnectionsMax = 256;
constexpr double kRefusedSeconds = 5;
// A client that asks again this soon is waited for by the thread that served it.
constexpr int kLingerMs = 10;
// How long a client may go on sending what nobody reads, so that it sees the reply.
constexpr std::chrono::milliseconds kUnreadMs{5000};

std::size_t tcp_hosts(const HttpServerOptions& options) {
  return options.hosts.size() -
         static_cast<std::size_t>(std::count_if(options.hosts.begin(), options.hosts.end(), is_unix_socket_path));
}

HttpProtocolOptions protocol_options(const HttpServerOptions& options) {
  constexpr std::size_t kBodiesBytesMin = std::size_t{256} * 1024 * 1024;
  return {.body_bytes_max = options.body_bytes_max,
          .all_bodies_bytes_max = std::max(4 * options.body_bytes_max, kBodiesBytesMin),
          .keep_alive_seconds = options.keep_alive_seconds,
          .cors_origins = options.cors_origins,
          .path_prefix = options.path_prefix,
          .ipv6_alone = tcp_hosts(options) > 1};
}

WorkerLimits worker_limits(const HttpServerOptions& options) {
  const auto kept = static_cast<std::size_t>(options.threads);
  return {.threads_kept = kept, .threads_max = kept + kThreadsMore};
}

Status check_options(const HttpServerOptions& options) {
  const bool has_empty = std::find(options.hosts.begin(), options.hosts.end(), "") != options.hosts.end();
  if (options.hosts.empty() || has_empty) return invalid_argument("host", "host must not be empty");
  if (options.port == 0 && tcp_hosts(options) > 1) {
    return invalid_argument("port", "port 0 goes with one address; here are " + std::to_string(tcp_hosts(options)));
  }
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
        idle([this](std::unique_ptr<Connection> one) { hand_over(std::move(one)); }) {
    // Each listens on one address; the first also reads and answers what came to the others.
    for (std::size_t i = 1; i < given.hosts.size(); ++i) {
      others.push_back(std::make_unique<HttpProtocol>(protocol_options(given)));
    }
  }

  // Nothing, or the address that cannot be listened on.
  std::optional<std::string> listen();
  bool listen_on(const std::string& host, HttpProtocol& with);
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
  std::vector<std::unique_ptr<HttpProtocol>> others;
  ConnectionWorkers workers;
  IdleConnections idle;
};

bool HttpServer::Listener::listen_on(const std::string& host, HttpProtocol& with) {
  if (is_unix_socket_path(host)) remove_dead_socket(host);
  const int bound = with.listen(host, options.port, [this](int socket) { accept(socket); });
  if (bound >= 0 && !is_unix_socket_path(host)) port = bound;
  return bound >= 0;
}

std::optional<std::string> HttpServer::Listener::listen() {
  for (std::size_t i = 0; i < options.hosts.size(); ++i) {
    if (!listen_on(options.hosts[i], i == 0 ? protocol : *others[i - 1])) return options.hosts[i];
  }
  return std::nullopt;
}

void HttpServer::Listener::stop() {
  stopping.store(true);
  idle.stop();
  workers.finish();
  protocol.stop_listening();
  for (const std::unique_ptr<HttpProtocol>& other : others) other->stop_listening();
  for (const std::string& host : options.hosts) {
    if (is_unix_socket_path(host)) remove_dead_socket(host);
  }
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
  const auto unbound = [&options](const std::string& host, const std::string& why) {
    const std::string place = is_unix_socket_path(host) ? host : host + ":" + std::to_string(options.port);
    return Error{ErrorCode::kIo,
                 "cannot listen on " + place + "; is the port taken, or the host not an address of this machine?" + why,
                 ""};
  };
  try {
    std::unique_ptr<HttpServer> server(new HttpServer(std::make_unique<Listener>(options, std::move(tls))));
    if (const std::optional<std::string> host = server->listener_->listen(); host) return unbound(*host, "");
    return server;
  } catch (const std::exception& error) {
    return unbound(options.hosts.front(), std::string(" (") + error.what() + ")");
  }
}

void HttpServer::set_ready(Routes& routes) { listener_->protocol.set_routes(routes); }

int HttpServer::port() const { return listener_->port; }

std::string HttpServer::address() const { return addresses().front(); }

std::vector<std::string> HttpServer::addresses() const {
  std::vector<std::string> out;
  for (const std::string& host : listener_->options.hosts) {
    out.push_back(address_of(host, listener_->port, listener_->tls != nullptr));
  }
  return out;
}

void HttpServer::stop() {
  std::call_once(listener_->stopped, [this] { listener_->stop(); });
}

}  // namespace assay::server
