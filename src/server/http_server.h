#pragma once
// The listening socket. HTTP itself is llama.cpp's server layer; what is answered is Routes'.
//
//   auto server = HttpServer::open({.host = "127.0.0.1", .port = 8080});   // binds; answers 503 from here on
//   ... load the model, build the Routes ...
//   (*server)->set_ready(routes);
//   ... wait for a signal ...
//   shut_down(routes, *decider, [&] { (*server)->stop(); }, grace_ms);      // shutdown.h

#include <memory>
#include <string>
#include <vector>

#include "assay/error.h"
#include "server/routes.h"

namespace assay::server {

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // an address or name of this machine, or a path that ends in .sock
  int port = 8080;                 // 0: any free port; port() tells which
  // When not empty, every path but /health and / wants one of them (/ping too), as "Authorization: Bearer KEY" or
  // "X-Api-Key: KEY".
  std::vector<std::string> api_keys = {};
  // Threads that are always there; more come while all are busy. A decision holds its thread until it is answered, and
  // an idle thread costs little, so there should be more than decisions that usually wait.
  int threads = 64;
  int read_timeout_seconds = 60;   // for the next bytes of a request; bounds what stop() waits for a silent client
  int write_timeout_seconds = 60;  // for a client that does not read its reply
};

// Thread-safe. No Access-Control-Allow-Origin header is ever sent, so no web page of another origin can read a reply.
// What the layer below fixes and we cannot change: the body of every 404 is its own ("File Not Found"), so our text
// goes into the header x-error; PUT and PATCH, and paths of more than 256 bytes or with a line break, get that 404 too;
// bodies above 100 MiB get a 413 without a text; OPTIONS gets an empty 200; a missing or wrong key gets its own 401;
// requests before set_ready() get its own 503; GET /sw.js gets a script that removes an old web interface; the Server
// header says llama.cpp. A client that leaves while its request waits for a thread costs nothing; one that leaves later
// is noticed by HttpRequest::disconnected. One that closes only its sending side counts as gone too.
class HttpServer {
 public:
  // Binds and listens. Until set_ready() every request gets 503. Errors: kInvalidArgument for options that make no
  // sense, kIo when the address cannot be bound.
  static Result<std::unique_ptr<HttpServer>> open(const HttpServerOptions& options);
  // As stop().
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // From now on `routes` answers. It must outlive the call of stop(). Call it once.
  void set_ready(Routes& routes);

  // The port that is listened on; what was asked for, or what port 0 found.
  int port() const;
  // Where clients find it, such as "http://127.0.0.1:8080".
  std::string address() const;

  // Takes no more connections, lets the requests at work finish, and returns when all of them are answered.
  // Idempotent. Do not call it from a request.
  void stop();

 private:
  struct Listener;
  explicit HttpServer(std::unique_ptr<Listener> listener);

  std::unique_ptr<Listener> listener_;
};

}  // namespace assay::server
