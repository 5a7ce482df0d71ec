#pragma once
// HTTP/1.1 on a connection: a request comes in, Routes or this layer answers it, and the reply goes out. Parsing and
// writing are cpp-httplib's; connections, threads and waiting are not.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/http/connection.h"
#include "server/routes.h"

namespace assay::server {

struct HttpProtocolOptions {
  std::size_t body_bytes_max = 0;
  std::size_t all_bodies_bytes_max = 0;  // of all requests at work
  int keep_alive_seconds = 0;            // what clients are told
  std::vector<std::string> cors_origins = {};
  std::string path_prefix = {};  // in front of every path; what is behind it is the path (path_prefix.h)
  bool ipv6_alone = false;       // an IPv6 address takes no IPv4 connections
};

// Thread-safe.
class HttpProtocol {
 public:
  enum class Then {
    kGoOn,       // the next request may come
    kEnd,        // close the connection
    kEndUnread,  // close it; the client may still be sending
  };

  explicit HttpProtocol(const HttpProtocolOptions& options);
  ~HttpProtocol();
  HttpProtocol(const HttpProtocol&) = delete;
  HttpProtocol& operator=(const HttpProtocol&) = delete;

  // Binds to an address and a port (0: any free one), or to the path of a Unix socket, and listens from now on.
  // `on_accept` gets each client's socket, which is then its to close, on a thread of its own. The port, or -1.
  int listen(const std::string& host, int port, std::function<void(int socket)> on_accept);
  // Nothing is accepted any more. Streams that have not begun are cut short, so serve what is there first. Idempotent.
  void stop_listening();

  // From now on these routes answer; before, everything gets 503.
  void set_routes(Routes& routes);

  // Reads one request and answers it. `is_last` says that the connection is to end with it, whatever the client wants.
  Then serve(Connection& connection, const std::atomic<bool>& is_last);

 private:
  class Library;
  const std::unique_ptr<Library> library_;
};

}  // namespace assay::server
