#pragma once
// What SageMaker wants beside the routes: /invocations for everything, JSON Lines, sessions, and the addresses that its
// clients ask (/endpoints/NAME/...) when this server stands in for an endpoint. It computes nothing: what a request is
// for is asked of the server itself, under another path.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "server/http/http_message.h"
#include "server/route_table.h"
#include "server/sagemaker/async_calls.h"
#include "server/sagemaker/sessions.h"

namespace assay::server {

struct SageMakerOptions {
  SessionLimits sessions = {};
  AsyncLimits async = {};
  bool json_lines_all_or_none = false;  // one bad line is a 400 of all
  std::size_t lines_at_once = 16;       // lines of one JSON Lines body that are decided at the same time
  // Seconds since 1970, for the headers that name a time; the system's clock. Tests set it.
  std::function<std::int64_t()> unix_seconds;
};

// Thread-safe. Keeps a reference to the clock.
class SageMakerFront {
 public:
  // Answers a request under its own path. Thread-safe, lets no exception out, outlives this object.
  using Dispatch = std::function<HttpReply(const HttpRequest& request)>;

  SageMakerFront(const SageMakerOptions& options, const Clock& clock, Dispatch dispatch);
  SageMakerFront(const SageMakerFront&) = delete;
  SageMakerFront& operator=(const SageMakerFront&) = delete;

  // Whether answer() is to be asked: a POST to /invocations or /endpoints/..., or the GET of an asynchronous reply.
  static bool takes(const Route& route, const HttpRequest& request);

  // /invocations: the route that the header or the body names (invocations.h); a line of JSON for each line where the
  // body is JSON Lines; X-Amzn-SageMaker-Session-Id opens, uses and closes sessions (sessions.h); a session's state is
  // there for every line, and lines open none. A stream of events is
  // sent event by event. The custom attributes come back as they came.
  // /endpoints/NAME/invocations: the same as a client of SageMaker sees it: an error is a 424 ModelError.
  // /endpoints/NAME/invocations-response-stream: the same in frames (event_stream.h).
  // /endpoints/NAME/async-invocations: 202, and the reply later at the address that the reply's header says.
  // Replies that no other path gave have no x-request-id yet.
  HttpReply answer(const Route& route, const HttpRequest& request);

 private:
  HttpReply invocation(const HttpRequest& request);
  HttpReply in_session(const HttpRequest& request);
  // With the answer of an ordinary request, or (nullptr) for its own sake.
  HttpReply open_session(Value state, const HttpRequest* request);
  HttpReply routed(const HttpRequest& request, const std::string* body);
  // `state`: put into lines that have none; null: into none.
  HttpReply lines(const HttpRequest& request, const Value& state);
  HttpReply endpoint(const HttpRequest& request);
  HttpReply start_async(const HttpRequest& request);
  HttpReply fetch_async(const HttpRequest& request);

  const SageMakerOptions options_;
  const Dispatch dispatch_;
  Sessions sessions_;
  AsyncCalls async_;
};

}  // namespace assay::server
