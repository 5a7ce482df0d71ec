#pragma once
// What the server answers on which path, without any HTTP library: a request is a value, a reply is a value.
//
//   Routes routes(decider, metrics, clock, {});
//   HttpReply reply = routes.handle({.method = "GET", .path = "/health", .headers = {}, .body = ""});
//
//   GET  /health                    state of the server and the limits of one request; 503 when it cannot decide
//   GET  /ping                      200 or 503, for SageMaker and load balancers
//   GET  /v1/models                 the loaded model and the names it answers to
//   GET  /metrics                   Prometheus text
//   GET  /docs, /openapi.json, …    pages for people and tools (web_pages.h)
//   POST /v1/systemone              System One (systemone_wire.h); also /api/v1/systemone and /api/alpha/decisions
//   POST /v1/decisions, /decisions  OpenAI decisions (openai_decisions.h), or System One where the body has a state
//   POST /v1/chat/completions       a chat completion, or one that is one decision (chat_decide.h)
//   POST /v1/decide                 SemIf's body (wire.h)
//   POST /invocations               SageMaker's path: whatever the body is written for (sagemaker_front.h)
//   POST /endpoints/…               the same as SageMaker's clients ask for it
//   GET  /execution-parameters      for batch transform
//   GET  /v2/…                      health and models as the Open Inference Protocol has them (oip.h)
//   …    /v1/feedback, /v1/decisions/{id}, /v1/lessons…  where lessons are on (lesson_routes.h)
//   and all that a chat server has beside these (chat_server.h)

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/decider.h"
#include "assay/lesson_desk.h"
#include "base/clock.h"
#include "server/counted_request.h"
#include "server/decision_call.h"
#include "server/http/api_keys.h"
#include "server/http/http_headers.h"
#include "server/http/http_message.h"
#include "server/http/rate_limit.h"
#include "server/http/request_ids.h"
#include "server/llama/chat_server.h"
#include "server/metrics.h"
#include "server/request_log.h"
#include "server/route_map.h"
#include "server/sagemaker/sagemaker_front.h"
#include "server/sagemaker/vertex_front.h"
#include "server/wires/wires.h"

namespace assay::server {

struct RouteOptions {
  WireOptions wire;
  // Names that a request may call the model by, beside the model's own id.
  std::vector<std::string> model_names = {"jev-latest", "jev-preview"};
  std::vector<std::string> api_keys = {};  // empty: everyone may ask
  double rate_limit_per_minute = 0;        // requests of one client; 0: no limit
  std::size_t system_one_options_max = 255;
  std::size_t system_one_levels_max = 10;
  SageMakerOptions sagemaker = {};
  VertexOptions vertex = {};
  std::size_t transforms_at_once = 16;  // requests of a batch transform that this server answers at the same time
  LineSink log_requests = {};           // a line for each request (request_log.h); empty: none
  int round_digits = 0;                 // of System One's and OpenAI's numbers; 0: not rounded
  // Answers chat and all routes that are not ours; nullptr: there is none. Outlives the Routes.
  ChatServer* chat = nullptr;
  // Keeps decisions and lessons; nullptr: they are off. Outlives the Routes.
  LessonDesk* lessons = nullptr;
  // Start of the generated request ids; 0: taken from the system's random source. Tests set it.
  std::uint64_t request_id_seed = 0;
};

// Thread-safe. Keeps references to the decider, the metrics and the clock, which must outlive it.
class Routes {
 public:
  Routes(Decider& decider, Metrics& metrics, const Clock& clock, const RouteOptions& options);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  // Answers any request; blocks while a decision is computed; lets no exception out. Every reply has the headers
  // x-request-id and x-typesafe-request-id: the client's own id when it is 1..128 visible ASCII characters, else a new
  // one. Every 429 and 503 has Retry-After: whole seconds, at least 1. What is checked comes in this order: path,
  // method, key, media type, size, rate limit, whether decisions can be made at all, body. Errors are in the form of
  // the path's wire; where a path has none, as no_such_path_body() and system_one_refusal() say. Texts of our own
  // faults go to the log, not to the client.
  //
  // A decision whose request accepts text/event-stream is streamed: the reply comes back at once, and `stream` decides.
  // It needs the decider, the metrics and the wires until it has been called or dropped.
  HttpReply handle(const HttpRequest& request);

  // What can be said before the body is there, from the method, the path and the headers alone: no such route or
  // method, a missing or wrong key, a media type, a Content-Length above the limit. Nothing: go on and read the body.
  // handle() checks all of it again, so that calling this is never needed, and calling it costs no part of a rate
  // limit. Such a refusal is counted in the metrics as handle() counts.
  std::optional<HttpReply> refuse_early(const HttpRequest& request);

  // What can be said of a large body before all of it is there, from the method, the path, the headers and as much of
  // the body as there is: a decision for which there is no place (kOverloaded). Nothing: go on and read. Calling this
  // is never needed: handle() says the same of the whole. Such a refusal is counted as handle() counts.
  std::optional<HttpReply> refuse_large(const HttpRequest& request);

  // From now on health and ping say 503, and so do new decisions. Idempotent.
  void set_draining() { draining_.store(true); }

 private:
  using Counted = CountedRequest;
  struct Served {
    HttpReply reply;
    std::string readout = "none";    // for the metrics
    double retry_after_seconds = 0;  // of an error; 0: not known
    std::optional<DecisionCosts> costs = {};
  };

  HttpReply handle_route(const HttpRequest& request);
  static bool is_for_front(const Route& route, const HttpRequest& request);
  HttpReply handle_front(const Route& route, const HttpRequest& request);

  Served serve(const Route* route, const HttpRequest& request, const std::string& id,
               const std::shared_ptr<Counted>& counted);
  std::optional<Served> check_head(const Route* route, const HttpRequest& request, const std::string& id);
  Served refuse_method(const Route& route, const std::string& id);
  Served refuse(const Route* route, const Error& error, const std::string& id);
  static Served served_of(DecisionOutcome outcome);
  Served forward(const Route& route, const HttpRequest& request, const std::shared_ptr<Counted>& counted);
  bool is_for_one_model(const Route& route, const HttpRequest& request) const;
  bool is_chat(const Route& route, const HttpRequest& request) const;
  Status check_body(const Route& route, const HttpRequest& request);
  Served lesson(const Route& route, const HttpRequest& request, const std::string& id);
  Served exported(const Route& route, const HttpRequest& request, const std::string& id,
                  const std::shared_ptr<Counted>& counted);
  Served decide(const Route& route, const HttpRequest& request, const std::string& id,
                const std::shared_ptr<Counted>& counted);
  Served stream(const Wire& wire, ParsedWire parsed, const std::string& id, const std::shared_ptr<Counted>& counted);
  HttpReply page(const Route& route, const HttpRequest& request) const;
  HttpReply metrics_reply() const;
  static HttpReply finish(Served served, const std::string& id, Counted& counted);
  HttpReply health_reply() const;
  HttpReply ping_reply() const;
  std::string status_word() const;

  const DecisionPlace place_;
  const Clock& clock_;
  const RouteOptions options_;
  const RequestBook book_;
  const WireSettings settings_;
  const Wires wires_;
  const RouteMap map_;
  const ApiKeys keys_;
  RateLimit rate_limit_;
  RequestIds request_ids_;
  std::atomic<bool> draining_{false};
  const VertexFront vertex_;
  SageMakerFront front_;  // the last member: its thread asks this object
};

}  // namespace assay::server
