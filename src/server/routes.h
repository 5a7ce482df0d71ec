#pragma once
// What the server answers on which path, without any HTTP library: a request is a value, a reply is a value.
//
//   Routes routes(decider, metrics, clock, {});
//   HttpReply reply = routes.handle({.method = "GET", .path = "/health", .headers = {}, .body = ""});
//
//   GET  /health        state of the server and the limits of one request; 503 when it cannot decide
//   GET  /ping          200 or 503, for SageMaker and load balancers
//   GET  /v1/models     the loaded model
//   GET  /metrics       Prometheus text
//   POST /v1/decide     SemIf's body (wire.h)
//   POST /invocations   the same, SageMaker's path

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/decider.h"
#include "base/clock.h"
#include "server/http_message.h"
#include "server/metrics.h"
#include "server/wire.h"

namespace assay::server {

struct RouteOptions {
  WireOptions wire;
  // Start of the generated request ids; 0: taken from the system's random source. Tests set it.
  std::uint64_t request_id_seed = 0;
};

// A path that this server knows and the method it takes ("GET" or "POST"; HEAD goes where GET goes).
struct Route {
  const char* path;
  const char* method;
};
const std::vector<Route>& known_routes();

// Thread-safe. Keeps references to the decider, the metrics and the clock, which must outlive it.
class Routes {
 public:
  Routes(Decider& decider, Metrics& metrics, const Clock& clock, const RouteOptions& options);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  // Answers any request; blocks while a decision is computed; lets no exception out. Every reply has an x-request-id
  // header: the client's own when it is 1..128 visible ASCII characters, else a new one. Every 429 and 503 has
  // Retry-After: whole seconds, at least 1. Errors are {"error", "code", …} (wire_reply.h): 400, 404, 405 with Allow,
  // 413, 415, 429, 499, 500, 503 and 504 as semif_status() says. Texts of our own faults go to the log, not to the
  // client.
  HttpReply handle(const HttpRequest& request);

  // What can be said before the body is there, from the method, the path and the headers alone: no such route or method,
  // a missing or wrong key, too many requests with one key, a media type, a Content-Length above the limit. Nothing: go
  // on and read the body. handle() checks all of it again, so that calling this is never needed. Such a refusal is
  // counted in the metrics as handle() counts.
  std::optional<HttpReply> refuse_early(const HttpRequest& request);

  // From now on health and ping say 503, and so do new decisions. Idempotent.
  void set_draining() { draining_.store(true); }

 private:
  struct Served {
    HttpReply reply;
    std::string readout = "none";    // for the metrics
    double retry_after_seconds = 0;  // of an error; 0: not known
  };

  Served serve(const HttpRequest& request, const std::string& request_id);
  Served serve_known(const HttpRequest& request, const std::string& request_id);
  Served decide(const HttpRequest& request, const std::string& request_id);
  Result<Served> decide_body(const HttpRequest& request);
  Status check_decide(const HttpRequest& request) const;
  Served refuse(Error error, int status, const std::string& request_id);
  HttpReply health_reply() const;
  HttpReply ping_reply() const;
  std::string status_word() const;
  std::string new_request_id();

  Decider& decider_;
  Metrics& metrics_;
  const Clock& clock_;
  const RouteOptions options_;
  const std::uint64_t request_id_seed_;
  std::atomic<std::uint64_t> request_ids_given_{0};
  std::atomic<bool> draining_{false};
};

// Who asks, by the API key that came with the request, found as the HTTP layer finds it: the Authorization header
// without a leading "Bearer ", else X-Api-Key. The first 16 hex digits of the key's SHA-256, never the key; empty
// without one.
std::string client_of(const HttpRequest& request);
// True for application/json with or without parameters, in any case.
bool is_json_media_type(std::string_view content_type);
// The known path that a client most likely meant; empty when none is near.
std::string nearest_path(std::string_view path);

}  // namespace assay::server
