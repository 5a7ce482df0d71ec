// A decision passes: path, method, key, media type, size, rate limit, "can we decide at all", body, decider, reply. The
// first step that fails answers. Each request is counted once, by its Counted, when nobody has anything to do for it
// any more: at the end of handle(), or of the stream that handle() left behind.
#include "server/routes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/sha256.h"
#include "server/decision_export.h"
#include "server/http/ascii.h"
#include "server/http/http_headers.h"
#include "server/lesson_routes.h"
#include "server/sagemaker/json_lines.h"
#include "server/will_decide.h"
#include "server/wires/openai_error.h"
#include "server/wires/systemone_error.h"
#include "server/wires/wire_json.h"
#include "server/wires/wire_reply.h"

namespace assay::server {
namespace {

// Where a chat server answers chat, whatever path of ours it was asked under.
constexpr const char* kChatPath = "/v1/chat/completions";

bool is_post(const Route& route) { return std::string_view(route.method) == "POST"; }

// What TypeSafe's and OpenAI's clients send, and nothing else there; SemIf's and SageMaker's callers have more ways.
bool wants_bearer(const Route& route) {
  return route.kind == RouteKind::kSystemOne || route.kind == RouteKind::kModels ||
         route.kind == RouteKind::kDecisions || route.kind == RouteKind::kChat;
}

bool is_open(const Route& route) {
  return route.kind == RouteKind::kPage || route.kind == RouteKind::kHealth || is_open_path(route.path);
}

std::vector<Route> vertex_routes(const VertexOptions& options) {
  std::vector<Route> out;
  if (!options.predict_path.empty()) out.push_back({options.predict_path.c_str(), "POST", RouteKind::kVertex});
  if (!options.health_path.empty()) out.push_back({options.health_path.c_str(), "GET", RouteKind::kHealth});
  return out;
}

// Where the path has no wire of its own, and on System One's, errors are the general ones.
bool has_general_errors(const Route& route) {
  return route.kind != RouteKind::kForeign && (!is_post(route) || route.kind == RouteKind::kSystemOne);
}

// What llama-server reads as it reads it: any media type, and errors as OpenAI has them.
RouteKind errors_of(RouteKind kind) {
  return kind == RouteKind::kForeign || kind == RouteKind::kVertex ? RouteKind::kChat : kind;
}

Error too_large(std::uint64_t bytes, std::size_t bytes_max) {
  return Error{ErrorCode::kTooLong,
               "the body has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(bytes_max), ""};
}

WireSettings wire_settings(const RouteOptions& options, const ModelReport& model) {
  WireSettings settings{.model_names = {model.id},
                        .body_bytes_max = options.wire.body_bytes_max,
                        .options_min = options.wire.options_min,
                        .options_max = options.wire.options_max,
                        .questions_max = options.wire.questions_max,
                        .system_one_options_max = options.system_one_options_max,
                        .system_one_levels_max = options.system_one_levels_max,
                        .round_digits = options.round_digits,
                        .reads_images = model.reads_images};
  for (const std::string& name : options.model_names) {
    if (!settings.knows_model(name)) settings.model_names.push_back(name);
  }
  return settings;
}

}  // namespace

Routes::Routes(Decider& decider, Metrics& metrics, const Clock& clock, const RouteOptions& options)
    : place_{decider, metrics},
      clock_(clock),
      options_(options),
      book_{metrics, clock, options_.log_requests},
      settings_(wire_settings(options, decider.report())),
      wires_(settings_, decider.report()),
      map_(options.chat, vertex_routes(options_.vertex)),
      keys_(options.api_keys),
      rate_limit_(options.rate_limit_per_minute, clock),
      request_ids_(options_.request_id_seed),
      vertex_(options_.vertex, map_.routes(), [this](const HttpRequest& inner) { return handle_route(inner); }),
      front_(options_.sagemaker, clock, [this](const HttpRequest& inner) { return handle_route(inner); }) {}

HttpReply Routes::handle(const HttpRequest& request) {
  try {
    const Route* route = map_.find(request.path, request.method);
    if (route != nullptr && is_for_front(*route, request)) return handle_front(*route, request);
    return handle_route(request);
  } catch (...) {
    HttpReply empty;
    empty.status = 500;
    return empty;
  }
}

bool Routes::is_for_front(const Route& route, const HttpRequest& request) {
  return SageMakerFront::takes(route, request) || (route.kind == RouteKind::kVertex && takes(route, request.method));
}

// What the front answers itself is counted and named here, what another route answered was there.
HttpReply Routes::handle_front(const Route& route, const HttpRequest& request) {
  const std::string id = request_ids_.id_of(request);
  const std::int64_t start_ns = clock_.now_ns();
  std::optional<Served> refused = check_head(&route, request, id);
  if (!refused.has_value()) {
    HttpReply reply = route.kind == RouteKind::kVertex ? vertex_.predict(request) : front_.answer(route, request);
    const auto is_id = [](const auto& header) { return header.first == "x-request-id"; };
    if (std::any_of(reply.headers.begin(), reply.headers.end(), is_id)) return reply;
    refused = Served{.reply = std::move(reply)};
  }
  Counted counted(book_, &route, request, id, start_ns);
  return finish(std::move(*refused), id, counted);
}

HttpReply Routes::handle_route(const HttpRequest& request) {
  try {
    const Route* route = map_.find(request.path, request.method);
    const std::string id = request_ids_.id_of(request);
    // Owned here and, where the reply is a stream, by that: a request is over when the last of them is.
    const auto counted = std::make_shared<Counted>(book_, route, request, id, clock_.now_ns());
    return finish(serve(route, request, id, counted), id, *counted);
  } catch (...) {
    // Even the error's text could not be made: what is left needs no memory.
    HttpReply empty;
    empty.status = 500;
    return empty;
  }
}

std::optional<HttpReply> Routes::refuse_early(const HttpRequest& request) {
  try {
    const Route* route = map_.find(request.path, request.method);
    const std::string id = request_ids_.id_of(request);
    std::optional<Served> refused = check_head(route, request, id);
    if (!refused.has_value()) return std::nullopt;
    Counted counted(book_, route, request, id, clock_.now_ns());
    return finish(std::move(*refused), id, counted);
  } catch (...) {
    return std::nullopt;  // handle() will say what it can
  }
}

std::optional<HttpReply> Routes::refuse_large(const HttpRequest& request) {
  try {
    if (!place_.decider.full()) return std::nullopt;
    const Route* route = map_.find(request.path, request.method);
    if (route == nullptr || !will_decide(*route, request)) return std::nullopt;
    const std::string id = request_ids_.id_of(request);
    Counted counted(book_, route, request, id, clock_.now_ns());
    return finish(refuse(route, {ErrorCode::kOverloaded, "the queue is full; try again", ""}, id), id, counted);
  } catch (...) {
    return std::nullopt;  // handle() will say what it can
  }
}

HttpReply Routes::finish(Served served, const std::string& id, Counted& counted) {
  served.reply.headers.emplace_back("x-request-id", id);
  served.reply.headers.emplace_back("x-typesafe-request-id", id);
  if (served.reply.status == 503 || served.reply.status == 429) {
    served.reply.headers.emplace_back("Retry-After", retry_after_text(served.retry_after_seconds));
  }
  if (served.reply.status == 401) served.reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  counted.say(served.reply.status, std::move(served.readout), served.costs);
  return std::move(served.reply);
}

Routes::Served Routes::serve(const Route* route, const HttpRequest& request, const std::string& id,
                             const std::shared_ptr<Counted>& counted) {
  Error error{ErrorCode::kInternal, "", ""};
  try {
    std::optional<Served> refused = check_head(route, request, id);
    if (refused.has_value()) return std::move(*refused);
    if (is_for_one_model(*route, request)) {
      return forward(*map_.find_foreign(route->path, route->method), request, counted);
    }
    if (route->kind == RouteKind::kLessons) return lesson(*route, request, id);
    if (route->kind == RouteKind::kExport) return exported(*route, request, id, counted);
    if (route->kind == RouteKind::kForeign) {
      const Status checked = is_post(*route) ? check_body(*route, request) : Status();
      return checked.ok() ? forward(*route, request, counted) : refuse(route, checked.error(), id);
    }
    return is_post(*route) ? decide(*route, request, id, counted) : Served{.reply = page(*route, request)};
  } catch (const std::bad_alloc&) {
    error = Error{ErrorCode::kOutOfMemory, "memory ran out while the request was answered", ""};
  } catch (const std::exception& thrown) {
    error.message = thrown.what();
  } catch (...) {
    error.message = "an exception of unknown type";
  }
  return refuse(route, error, id);
}

// All that needs no body, nor anything but this object's own settings.
std::optional<Routes::Served> Routes::check_head(const Route* route, const HttpRequest& request,
                                                 const std::string& id) {
  if (route == nullptr) {
    place_.metrics.count_refusal(ErrorCode::kNotFound);
    Served served;
    served.reply.status = 404;
    served.reply.body = no_such_path_body(no_route_text(request.path, map_.routes()));
    return served;
  }
  if (!takes(*route, request.method)) return refuse_method(*route, id);
  if (!is_open(*route)) {
    const Status allowed = keys_.check(request, wants_bearer(*route));
    if (!allowed.ok()) return refuse(route, allowed.error(), id);
  }
  if (!is_post(*route)) return std::nullopt;
  const std::uint64_t bytes = content_length(request);
  if (bytes > settings_.body_bytes_max) return refuse(route, too_large(bytes, settings_.body_bytes_max), id);
  if (errors_of(route->kind) != route->kind || (route->kind == RouteKind::kChat && options_.chat != nullptr)) {
    return std::nullopt;
  }
  const std::string* type = find_header(request, "content-type");
  const bool is_lines = route->kind == RouteKind::kInvocations && type != nullptr && is_json_lines_media_type(*type);
  if (route->kind == RouteKind::kLessons && type == nullptr && bytes == 0) return std::nullopt;
  if (route->kind != RouteKind::kEndpoint && !is_lines && (type == nullptr || !is_json_media_type(*type))) {
    const Error error{ErrorCode::kMediaType, "the body must be application/json; say so in the Content-Type header",
                      ""};
    return refuse(route, error, id);
  }
  return std::nullopt;
}

Routes::Served Routes::refuse_method(const Route& route, const std::string& id) {
  const std::string allowed = map_.allowed_methods(route.path);
  const std::string message = std::string(route.path) + " takes " + allowed;
  Served served = refuse(&route, invalid_argument("", message), id);
  served.reply.status = 405;
  if (has_general_errors(route)) served.reply.body = no_such_method_body(message);
  served.reply.headers.emplace_back("Allow", allowed);
  return served;
}

// An error that is not the body's. Too large is 413 on every path, though too long can be 400 once a body is read.
Routes::Served Routes::refuse(const Route* route, const Error& error, const std::string& id) {
  const RouteKind kind = route != nullptr ? route->kind : RouteKind::kSystemOne;
  Served served = served_of(refuse_decision(place_, wires_.of_route(errors_of(kind)), error, id));
  served.reply.status = http_status(error.code);
  // What clients of llama-server look for.
  if (kind == RouteKind::kForeign && error.code == ErrorCode::kUnauthorized) {
    served.reply.body = unauthorized_body(error.message);
  }
  return served;
}

Routes::Served Routes::served_of(DecisionOutcome outcome) {
  Served served{.reply = {}, .readout = std::move(outcome.readout), .retry_after_seconds = outcome.retry_after_seconds};
  served.costs = outcome.costs;
  served.reply.status = outcome.status;
  served.reply.body = std::move(outcome.body);
  if (!outcome.decision_id.empty()) served.reply.headers.emplace_back("x-decision-id", std::move(outcome.decision_id));
  return served;
}

// What is left to check once the body is there, before it is parsed.
Status Routes::check_body(const Route& route, const HttpRequest& request) {
  if (request.body.size() > settings_.body_bytes_max) return too_large(request.body.size(), settings_.body_bytes_max);
  if (const std::optional<double> wait = rate_limit_.take(client_of(request)); wait.has_value()) {
    const auto limit = static_cast<std::int64_t>(options_.rate_limit_per_minute);
    return Error{ErrorCode::kTooBusy,
                 "too many requests of this key; the limit is " + std::to_string(limit) + " a minute", "", *wait};
  }
  if (draining_.load()) return Error{ErrorCode::kUnavailable, "the server is shutting down", ""};
  if (route.kind == RouteKind::kForeign) return {};
  // What was decided can be told and labelled even then.
  const bool healthy = route.kind == RouteKind::kLessons || place_.decider.healthy();
  return healthy ? Status() : Error{ErrorCode::kUnavailable, "the model has failed; a restart is needed", ""};
}

Routes::Served Routes::lesson(const Route& route, const HttpRequest& request, const std::string& id) {
  const bool changes = std::string_view(route.method) != "GET";
  const Status checked = changes ? check_body(route, request) : Status();
  if (!checked.ok()) return refuse(&route, checked.error(), id);
  Result<std::string> body = answer_lessons(options_.lessons, route, request);
  if (!body.ok()) return served_of(refuse_decision(place_, wires_.of_route(route.kind), body.error(), id));
  return Served{.reply = {.body = std::move(body).value()}};
}

// At work until the last line is sent, or the reply is dropped.
Routes::Served Routes::exported(const Route& route, const HttpRequest& request, const std::string& id,
                                const std::shared_ptr<Counted>& counted) {
  const Result<ExportQuery> query = read_export_query(request);
  Result<HttpReply> reply = query.ok() ? export_reply(options_.lessons, *query) : Result<HttpReply>(query.error());
  if (!reply.ok()) return served_of(refuse_decision(place_, wires_.of_route(route.kind), reply.error(), id));
  Served served{.reply = std::move(reply).value()};
  served.reply.stream = [send = std::move(served.reply.stream), counted](const BodyWriter& write) {
    return send(write);
  };
  return served;
}

Routes::Served Routes::decide(const Route& route, const HttpRequest& request, const std::string& id,
                              const std::shared_ptr<Counted>& counted) {
  const Status checked = check_body(route, request);
  if (!checked.ok()) return refuse(&route, checked.error(), id);
  if (is_chat(route, request)) return forward(*map_.find_foreign(kChatPath, "POST"), request, counted);
  const Wire* wire = wires_.of_body(route.kind, request.body);
  if (wire == nullptr) {
    const Result<Value> json = parse_json(request.body);
    return refuse(&route, json.ok() ? invalid_argument("", kNoKnownShape) : json.error(), id);
  }
  std::variant<ParsedWire, WireRefusal> read = wire->parse(request);
  if (WireRefusal* refused = std::get_if<WireRefusal>(&read)) {
    place_.metrics.count_refusal(refused->code);
    return served_of({.status = refused->status,
                      .body = std::move(refused->body),
                      .retry_after_seconds = refused->retry_after_seconds});
  }
  ParsedWire& parsed = std::get<ParsedWire>(read);
  parsed.request.client = client_of(request);
  parsed.request.cancelled = request.disconnected;
  parsed.request.hold = request.hold;
  if (parsed.write_answer && wants_event_stream(request)) return stream(*wire, std::move(parsed), id, counted);
  Served served = served_of(make_decision(place_, *wire, parsed, id));
  if (served.reply.status == 200) served.reply.content_type = parsed.content_type;
  return served;
}

// The metrics of one of several models.
bool Routes::is_for_one_model(const Route& route, const HttpRequest& request) const {
  if (route.kind != RouteKind::kMetrics || options_.chat == nullptr || !options_.chat->decides()) return false;
  return std::any_of(request.query.begin(), request.query.end(), [](const auto& one) { return one.first == "model"; });
}

// A chat completion that wants text.
bool Routes::is_chat(const Route& route, const HttpRequest& request) const {
  return route.kind == RouteKind::kChat && options_.chat != nullptr && !ChatDecideWire::wants(request);
}

// What the chat server answers. A stream is at work until it has been sent or dropped.
Routes::Served Routes::forward(const Route& route, const HttpRequest& request,
                               const std::shared_ptr<Counted>& counted) {
  Served served{.reply = options_.chat->handle(route.foreign, request)};
  if (!served.reply.stream) return served;
  served.reply.stream = [send = std::move(served.reply.stream), counted](const BodyWriter& write) {
    return send(write);
  };
  return served;
}

// The reply's status is sent before the decision is made; what became of it is told in the last event, and counted.
Routes::Served Routes::stream(const Wire& wire, ParsedWire parsed, const std::string& id,
                              const std::shared_ptr<Counted>& counted) {
  Served served;
  served.reply.content_type = kEventStreamType;
  served.reply.headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  served.reply.stream = [this, &wire, parsed = std::move(parsed), id, counted](const BodyWriter& write) mutable {
    try {
      DecisionOutcome outcome = stream_decision(place_, wire, parsed, id, write);
      counted->say(outcome.status, std::move(outcome.readout), outcome.costs);
      return true;
    } catch (...) {  // no memory left even for an event; the stream ends without its last one
      counted->say(500, "none");
      return false;
    }
  };
  return served;
}

}  // namespace assay::server
