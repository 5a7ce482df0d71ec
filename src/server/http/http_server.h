#pragma once
// The listening socket. HTTP itself is cpp-httplib's; what is answered is Routes'.
//
//   auto server = HttpServer::open({.host = "127.0.0.1", .port = 8080});   // binds; answers 503 from here on
//   ... load the model, build the Routes ...
//   (*server)->set_ready(routes);
//   ... wait for a signal ...
//   shut_down(routes, *decider, [&] { (*server)->stop(); }, grace_ms);      // shutdown.h

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "assay/error.h"
#include "server/routes.h"

namespace assay::server {

struct HttpServerOptions {
  // Addresses or names of this machine, or paths that end in .sock. With several addresses :: is IPv6 alone.
  std::vector<std::string> hosts = {"127.0.0.1"};
  int port = 8080;  // of all addresses; 0, for one address only: any free port; port() tells which
  // Threads that stay; up to kThreadsMore more come while all are busy. A request at work holds one, an idle connection
  // none.
  int threads = 64;
  // Connections that are open at once, idle ones too. Fewer when the system allows this process fewer files.
  std::size_t connections_max = 8192;
  std::size_t body_bytes_max = std::size_t{25} * 1024 * 1024;
  int keep_alive_seconds = 75;                 // how long a connection may be idle, before its first request too
  int read_timeout_seconds = 60;               // for a request's head, and for its body as connection.h says
  int write_timeout_seconds = 60;              // for a client that does not read its reply, likewise
  std::vector<std::string> cors_origins = {};  // cors.h
  std::string ssl_certificate_file;            // both: TLS; none: plain HTTP
  std::string ssl_key_file;
  std::string path_prefix;  // in front of every path (path_prefix.h)
};

// Threads that come when all of HttpServerOptions::threads are busy.
constexpr std::size_t kThreadsMore = 1024;

// Thread-safe.
//
// Every request that is HTTP reaches Routes, whatever its method and path. The layer itself answers, in Assay's own
// form and with a request id: 503 before set_ready(); 400 for what is no HTTP or whose length is ambiguous; 431, 414
// and 413 for a head, a path and a body that are too large; 415 for a body whose encoding or form is not taken; 417;
// 408 for a client that is too slow; and 503 above the limits below. Such replies are not in the metrics.
//
// A request is looked at twice: Routes::refuse_early sees its head, so a wrong key, path, method, media type or length
// is answered before the body is read (and before 100 Continue), and Routes::handle sees the whole. A body is never
// held beyond its limit; all bodies together are held to 4 times that or 256 MiB, whichever is more, then 503. When a
// body was not read, the connection ends with the reply; after any other reply, an error too, it can go on.
//
// Limits: connections_max connections. One more is accepted and told 503 when its request comes; of those above there
// are 256, and what is above them is closed. `threads` + kThreadsMore requests at work. More wait for a thread, up to
// 1024, then 503. So a connection that is idle never keeps another from being served.
//
// A client that closes its connection is noticed by HttpRequest::disconnected. One that closes only its sending side
// counts as gone too: a decision it asked for is not computed, but a request without a body is answered.
class HttpServer {
 public:
  // Binds and listens. Until set_ready() every request gets 503. Errors: kInvalidArgument for options that make no
  // sense, kNotFound for a file that cannot be read, kIo when the address cannot be bound.
  static Result<std::unique_ptr<HttpServer>> open(const HttpServerOptions& options);
  // As stop().
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // From now on `routes` answers. It must outlive the call of stop(). Call it once.
  void set_ready(Routes& routes);

  // The port that is listened on; what was asked for, or what port 0 found.
  int port() const;
  // Where clients find it, such as "http://127.0.0.1:8080", "https://..." or "unix:///run/assay.sock"; of several the
  // first.
  std::string address() const;
  // All of them.
  std::vector<std::string> addresses() const;

  // Takes no more connections, closes those that are idle, lets the requests at work finish, and returns when all of
  // them are answered. Idempotent. Do not call it from a request.
  void stop();

 private:
  struct Listener;
  explicit HttpServer(std::unique_ptr<Listener> listener);

  std::unique_ptr<Listener> listener_;
};

}  // namespace assay::server
