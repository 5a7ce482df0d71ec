// A decision passes: path, method, media type, size, "can we decide at all", body, decider, reply. The first step that
// fails answers. Only handle() touches the request's metrics, so each request is counted once.
#include "server/routes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <new>
#include <random>

#include "base/log.h"
#include "base/sha256.h"
#include "server/wire_reply.h"

namespace assay::server {
namespace {

constexpr std::size_t kRequestIdCharsMax = 128;
constexpr std::size_t kShownPathBytesMax = 200;
constexpr std::size_t kClientHexDigits = 16;
constexpr double kRetryAfterSecondsMax = 3600;

char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

const Route* find_route(std::string_view path) {
  for (const Route& route : known_routes()) {
    if (path == route.path) return &route;
  }
  return nullptr;
}

bool takes(const Route& route, const std::string& method) {
  return method == route.method || (method == "HEAD" && std::string_view(route.method) == "GET");
}

bool is_sane_request_id(const std::string& id) {
  return !id.empty() && id.size() <= kRequestIdCharsMax &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

// A bijection of 64 bits that looks random (splitmix64's last steps), so consecutive counts give unlike ids.
std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// Letters to insert, remove or replace to come from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

Error no_such_path(const HttpRequest& request) {
  std::string message = "no route " + request.path.substr(0, kShownPathBytesMax);
  const std::string nearest = nearest_path(request.path);
  if (!nearest.empty()) {
    message += "; did you mean " + std::string(find_route(nearest)->method) + " " + nearest + "?";
  } else {
    message += "; this server has";
    for (const Route& route : known_routes()) message += std::string(" ") + route.method + " " + route.path;
  }
  return Error{ErrorCode::kNotFound, std::move(message), ""};
}

WireHeaders wire_headers(const HttpRequest& request) {
  WireHeaders headers;
  if (const std::string* timeout = find_header(request, "x-timeout-ms")) headers.timeout_ms = *timeout;
  if (const std::string* priority = find_header(request, "x-priority")) headers.priority = *priority;
  return headers;
}

// The value of Retry-After: whole seconds, at least 1, whatever was estimated.
std::string retry_after_text(double seconds) {
  const double bounded = seconds > 1 ? std::min(seconds, kRetryAfterSecondsMax) : 1;  // NaN is 1
  return std::to_string(static_cast<int>(std::ceil(bounded)));
}

// Faults of ours: what happened goes to the log only.
bool is_our_fault(ErrorCode code) { return code == ErrorCode::kInternal || code == ErrorCode::kIo; }

}  // namespace

const std::vector<Route>& known_routes() {
  static const std::vector<Route> kRoutes = {{"/health", "GET"},  {"/ping", "GET"},       {"/v1/models", "GET"},
                                             {"/metrics", "GET"}, {"/v1/decide", "POST"}, {"/invocations", "POST"}};
  return kRoutes;
}

std::string client_of(const HttpRequest& request) {
  const std::string* given = find_header(request, "authorization");
  if (given == nullptr || given->empty()) given = find_header(request, "x-api-key");
  if (given == nullptr) return "";
  constexpr std::string_view kScheme = "Bearer ";
  std::string_view key = *given;
  if (key.starts_with(kScheme)) key.remove_prefix(kScheme.size());
  return key.empty() ? "" : sha256_hex(key).substr(0, kClientHexDigits);
}

bool is_json_media_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.front() == ' ' || type.front() == '\t')) type.remove_prefix(1);
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return equal_ignoring_case(type, "application/json");
}

std::string nearest_path(std::string_view path) {
  if (path.size() > kShownPathBytesMax) return "";
  std::string lower(path);
  std::transform(lower.begin(), lower.end(), lower.begin(), ascii_lower);
  // What other servers call the same thing.
  constexpr std::array<std::string_view, 5> kOtherNames = {"decision", "decide", "systemone", "semif", "classify"};
  for (const std::string_view name : kOtherNames) {
    if (lower.find(name) != std::string::npos) return "/v1/decide";
  }
  std::string nearest;
  std::size_t least = 4;  // further away is no longer a slip
  for (const Route& route : known_routes()) {
    const std::size_t distance = edit_distance(lower, route.path);
    if (distance >= least) continue;
    least = distance;
    nearest = route.path;
  }
  return nearest;
}

Routes::Routes(Decider& decider, Metrics& metrics, const Clock& clock, const RouteOptions& options)
    : decider_(decider),
      metrics_(metrics),
      clock_(clock),
      options_(options),
      request_id_seed_(options_.request_id_seed != 0 ? options_.request_id_seed : random_seed()) {}

HttpReply Routes::handle(const HttpRequest& request) {
  const std::int64_t start_ns = clock_.now_ns();
  try {
    metrics_.start_request();
    const std::string* given = find_header(request, "x-request-id");
    const std::string id = given != nullptr && is_sane_request_id(*given) ? *given : new_request_id();
    Served served = serve(request, id);
    served.reply.headers.emplace_back("x-request-id", id);
    if (served.reply.status == 503 || served.reply.status == 429) {
      served.reply.headers.emplace_back("Retry-After", retry_after_text(served.retry_after_seconds));
    }
    metrics_.finish_request({.route = find_route(request.path) != nullptr ? request.path : "other",
                             .readout = served.readout,
                             .status = served.reply.status,
                             .seconds = clock_.ms_since(start_ns) / 1e3});
    return std::move(served.reply);
  } catch (...) {
    // Even the error's text could not be made: what is left needs no memory.
    HttpReply empty;
    empty.status = 500;
    return empty;
  }
}

Routes::Served Routes::serve(const HttpRequest& request, const std::string& request_id) {
  try {
    return serve_known(request, request_id);
  } catch (const std::bad_alloc&) {
    const Error error{ErrorCode::kOutOfMemory, "memory ran out while the request was answered", ""};
    return refuse(error, http_status(error.code), request_id);
  } catch (const std::exception& error) {
    return refuse(Error{ErrorCode::kInternal, error.what(), ""}, 500, request_id);
  } catch (...) {
    return refuse(Error{ErrorCode::kInternal, "an exception of unknown type", ""}, 500, request_id);
  }
}

Routes::Served Routes::serve_known(const HttpRequest& request, const std::string& request_id) {
  const Route* route = find_route(request.path);
  if (route == nullptr) return refuse(no_such_path(request), 404, request_id);
  if (!takes(*route, request.method)) {
    const std::string allowed = std::string_view(route->method) == "GET" ? "GET, HEAD" : route->method;
    Served served = refuse(invalid_argument("", request.path + " takes " + allowed), 405, request_id);
    served.reply.headers.emplace_back("Allow", allowed);
    return served;
  }
  if (request.path == "/health") return {.reply = health_reply()};
  if (request.path == "/ping") return {.reply = ping_reply()};
  HttpReply reply;
  if (request.path == "/v1/models") {
    reply.body = models_body(decider_.report());
    return {.reply = std::move(reply)};
  }
  if (request.path == "/metrics") {
    reply.content_type = kMetricsMediaType;
    reply.body = metrics_.text(decider_.stats());
    return {.reply = std::move(reply)};
  }
  return decide(request, request_id);
}

// What can be said before the body is read. Too large is 413 here, though too long is 400 once it is read.
Status Routes::check_decide(const HttpRequest& request) const {
  const std::string* type = find_header(request, "content-type");
  if (type == nullptr || !is_json_media_type(*type)) {
    return Error{ErrorCode::kMediaType, "the body must be application/json; say so in the Content-Type header", ""};
  }
  const std::size_t bytes_max = options_.wire.body_bytes_max;
  if (request.body.size() > bytes_max) {
    return Error{
        ErrorCode::kTooLong,
        "the body has " + std::to_string(request.body.size()) + " bytes; the limit is " + std::to_string(bytes_max),
        ""};
  }
  if (draining_.load()) return Error{ErrorCode::kUnavailable, "the server is shutting down", ""};
  if (!decider_.healthy()) return Error{ErrorCode::kUnavailable, "the model has failed; a restart is needed", ""};
  return {};
}

Routes::Served Routes::decide(const HttpRequest& request, const std::string& request_id) {
  const Status checked = check_decide(request);
  if (!checked.ok()) return refuse(checked.error(), http_status(checked.error().code), request_id);
  Result<Served> served = decide_body(request);
  if (served.ok()) return std::move(served).value();
  return refuse(served.error(), semif_status(served.error().code), request_id);
}

Result<Routes::Served> Routes::decide_body(const HttpRequest& request) {
  Result<WireRequest> wire = parse_semif_request(request.body, options_.wire, wire_headers(request));
  if (!wire.ok()) return wire.error();
  wire->request.client = client_of(request);
  wire->request.cancelled = request.disconnected;
  const Result<DecisionReply> decided = decider_.decide(wire->request);
  if (!decided.ok()) return semif_error(wire.value(), decided.error());
  Result<std::string> text = semif_reply(wire.value(), decided.value(), decider_.report());
  if (!text.ok()) return text.error();
  metrics_.count_reply(decided.value());
  Served served{.reply = {}, .readout = readout_name(decided->answers.front().readout)};
  served.reply.body = std::move(text).value();
  return served;
}

Routes::Served Routes::refuse(Error error, int status, const std::string& request_id) {
  metrics_.count_refusal(error.code);
  if (is_our_fault(error.code)) {
    log_line(LogLevel::kError, "request " + request_id + ": " + error.message);
    error.message = "the request failed by a fault of the server; its log has the reason under this x-request-id";
    error.field.clear();
  }
  Served served;
  served.retry_after_seconds = error.retry_after_seconds;
  served.reply.status = status;
  served.reply.body = error_body(error);
  return served;
}

std::string Routes::status_word() const {
  if (draining_.load()) return "draining";
  return decider_.healthy() ? "ok" : "failed";
}

HttpReply Routes::health_reply() const {
  const EngineStats engine = decider_.stats();
  const Health health{.status = status_word(),
                      .context_tokens = decider_.report().context_tokens,
                      .limits = options_.wire,
                      .in_flight = decider_.in_flight(),
                      .queued = engine.queued,
                      .running = engine.running};
  HttpReply reply;
  reply.status = health.status == "ok" ? 200 : 503;
  reply.body = health_body(health);
  return reply;
}

HttpReply Routes::ping_reply() const {
  const std::string status = status_word();
  HttpReply reply;
  reply.status = status == "ok" ? 200 : 503;
  reply.body = ping_body(status);
  return reply;
}

std::string Routes::new_request_id() {
  std::uint64_t bits = scrambled(request_id_seed_ + request_ids_given_.fetch_add(1) * 0x9E3779B97F4A7C15u);
  std::string id(16, '0');
  for (std::size_t i = id.size(); i-- > 0; bits >>= 4) id[i] = "0123456789abcdef"[bits & 15];
  return id;
}

}  // namespace assay::server
