// A request passes: address (/endpoints/... to /invocations), session (its state put in), lines, route. Each step hands
// a changed copy of the request to the next, and the last one asks the server.
#include "server/sagemaker/sagemaker_front.h"

#include <chrono>
#include <random>
#include <string_view>
#include <utility>

#include "server/sagemaker/endpoint_replies.h"
#include "server/sagemaker/event_pieces.h"
#include "server/sagemaker/invocations.h"
#include "server/sagemaker/json_lines.h"
#include "server/sagemaker/session_body.h"
#include "server/wires/wire_json.h"
#include "server/wires/wire_reply.h"

namespace assay::server {
namespace {

constexpr const char* kSessionHeader = "X-Amzn-SageMaker-Session-Id";
constexpr const char* kNewSession = "NEW_SESSION";
constexpr std::string_view kAsyncPart = "/async-invocations";

HttpReply refusal(const Error& error) {
  HttpReply reply;
  reply.status = http_status(error.code);
  reply.body = error_body(error);
  return reply;
}

std::int64_t system_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

bool is_lines(const HttpRequest& request) {
  const std::string* type = find_header(request, "content-type");
  return type != nullptr && is_json_lines_media_type(*type);
}

SageMakerOptions with_clock(SageMakerOptions options) {
  if (!options.unix_seconds) options.unix_seconds = system_seconds;
  return options;
}

HttpReply session_reply(std::string_view id, const char* word) {
  HttpReply reply;
  reply.body = to_json_text(Value(Value::Object{{"session_id", text_value(id)}, {"status", Value(word)}}));
  return reply;
}

HttpRequest held_by(const SessionState& session, const HttpRequest& request) {
  HttpRequest held = request;
  held.hold = session.hold;
  return held;
}

// "1b9d6bcd-...": an inference's id where the client gave none.
std::string random_id() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) id += '-';
    id += "0123456789abcdef"[device() & 15];
  }
  return id;
}

}  // namespace

SageMakerFront::SageMakerFront(const SageMakerOptions& options, const Clock& clock, Dispatch dispatch)
    : options_(with_clock(options)),
      dispatch_(std::move(dispatch)),
      sessions_(options_.sessions, clock),
      async_(options_.async, clock) {}

bool SageMakerFront::takes(const Route& route, const HttpRequest& request) {
  if (!server::takes(route, request.method)) return false;
  return route.kind == RouteKind::kInvocations || route.kind == RouteKind::kEndpoint ||
         route.kind == RouteKind::kAsyncReply;
}

HttpReply SageMakerFront::answer(const Route& route, const HttpRequest& request) {
  if (route.kind == RouteKind::kAsyncReply) return fetch_async(request);
  return route.kind == RouteKind::kEndpoint ? endpoint(request) : invocation(request);
}

HttpReply SageMakerFront::invocation(const HttpRequest& request) {
  HttpReply reply = in_session(request);
  const std::string attributes = custom_attributes_of(request);
  if (!attributes.empty()) reply.headers.emplace_back(kCustomAttributesHeader, attributes);
  return reply;
}

HttpReply SageMakerFront::in_session(const HttpRequest& request) {
  const std::string* session = find_header(request, kSessionHeader);
  Result<std::optional<SessionOrder>> order = session_order(request.body);
  if (!order.ok()) return refusal(order.error());
  const bool opens = session != nullptr ? *session == kNewSession : order->has_value() && (*order)->opens;
  if (order->has_value() && (*order)->opens != opens) {
    return refusal(
        invalid_argument(kSessionHeader, std::string(kSessionHeader) + ": does not go with the requestType"));
  }
  if (opens) {
    if (order->has_value()) return open_session(std::move((*order)->state), nullptr);
    if (is_lines(request)) {
      return refusal(invalid_argument(
          kSessionHeader, std::string(kSessionHeader) + ": JSON Lines open no session; which of their states would it "
                                                        "keep?"));
    }
    return open_session(state_of_body(request.body), &request);
  }
  if (session == nullptr) {
    if (order->has_value()) {
      return refusal(invalid_argument(kSessionHeader, std::string(kSessionHeader) + ": says which session to close"));
    }
    return routed(request, nullptr);
  }
  if (order->has_value()) {
    const Status closed = sessions_.close(*session);
    if (!closed.ok()) return refusal(closed.error());
    HttpReply reply = session_reply(*session, "closed");
    reply.headers.emplace_back("X-Amzn-SageMaker-Closed-Session-Id", *session);
    return reply;
  }
  const Result<SessionState> about = sessions_.use(*session);
  if (!about.ok()) return refusal(about.error());
  if (is_lines(request)) return lines(held_by(*about, request), about->state);
  const std::string body = with_state(request.body, about->state);
  return routed(held_by(*about, request), &body);
}

// A session that is opened by an ordinary request is there only when that was answered.
HttpReply SageMakerFront::open_session(Value state, const HttpRequest* request) {
  const Result<std::string> id = sessions_.open(std::move(state));
  if (!id.ok()) return refusal(id.error());
  HttpReply reply;
  if (request == nullptr) {
    reply = session_reply(*id, "open");
  } else {
    const Result<SessionState> about = sessions_.use(*id);
    reply = about.ok() ? routed(held_by(*about, *request), nullptr) : refusal(about.error());
  }
  if (reply.status != 200 || reply.stream) {
    const Status closed = sessions_.close(*id);
    if (!closed.ok() || !reply.stream) return reply;
    return refusal(invalid_argument(kSessionHeader, std::string(kSessionHeader) + ": no session begins with a stream"));
  }
  const auto seconds = static_cast<std::int64_t>(options_.sessions.idle_seconds_max);
  reply.headers.emplace_back("X-Amzn-SageMaker-New-Session-Id",
                             new_session_header(*id, options_.unix_seconds() + seconds));
  return reply;
}

// `body` in place of the request's own, where it is given.
HttpReply SageMakerFront::routed(const HttpRequest& request, const std::string* body) {
  if (body == nullptr && is_lines(request)) return lines(request, {});
  const Result<std::string> path = invocation_path(request);
  if (!path.ok()) return refusal(path.error());
  if (body == nullptr && *path == kInvocationsPath) return with_single_events(dispatch_(request));
  HttpRequest inner = request;
  inner.path = *path;
  if (body != nullptr) inner.body = *body;
  // What SageMaker's callers may say in X-Api-Key, others' routes read as a bearer only.
  const std::string* key = find_header(request, "x-api-key");
  if (key != nullptr && find_header(request, "authorization") == nullptr) {
    inner.headers.emplace_back("Authorization", "Bearer " + *key);
  }
  return with_single_events(dispatch_(inner));
}

HttpReply SageMakerFront::lines(const HttpRequest& request, const Value& state) {
  const std::string type = *find_header(request, "content-type");
  HttpRequest head{.method = request.method,
                   .path = request.path,
                   .headers = {},
                   .body = "",
                   .disconnected = request.disconnected,
                   .hold = request.hold};
  for (const auto& [name, value] : request.headers) {
    const std::string lower_name = lower_case(name);
    if (lower_name != "content-type" && lower_name != "content-length" && lower_name != "accept") {
      head.headers.emplace_back(name, value);
    }
  }
  head.headers.emplace_back("Content-Type", "application/json");
  JsonLinesReply answered =
      answer_json_lines(json_lines_of(request.body), options_.lines_at_once, [&](std::string_view line) {
        HttpRequest one = head;
        one.body = state.is_null() ? std::string(line) : with_state(line, state);
        return routed(one, nullptr);
      });
  if (answered.failed > 0 && options_.json_lines_all_or_none) {
    return refusal(invalid_argument("line " + std::to_string(answered.first_failed),
                                    "line " + std::to_string(answered.first_failed) + " was answered with " +
                                        std::to_string(answered.first_failed_status) + "; of " +
                                        std::to_string(answered.failed) + " such lines the first"));
  }
  HttpReply reply;
  reply.content_type = type;
  reply.body = std::move(answered.body);
  return reply;
}

HttpReply SageMakerFront::endpoint(const HttpRequest& request) {
  if (request.path.ends_with(kAsyncPart)) return start_async(request);
  HttpReply reply = as_client_sees_it(invocation(as_container_sees_it(request)));
  return request.path.ends_with("-response-stream") ? in_frames(std::move(reply)) : reply;
}

HttpReply SageMakerFront::start_async(const HttpRequest& request) {
  if (find_header(request, "X-Amzn-SageMaker-InputLocation") != nullptr) {
    return validation_error("this endpoint reads nothing from S3: send the body itself (Body)");
  }
  if (request.body.empty() || request.body.size() > kAsyncBodyBytesMax) {
    return validation_error("the body of an asynchronous call has 1 to " + std::to_string(kAsyncBodyBytesMax) +
                            " bytes");
  }
  const std::string* given = find_header(request, "X-Amzn-SageMaker-Inference-Id");
  const std::string id = given != nullptr && is_inference_id(*given) ? *given : random_id();
  HttpRequest inner = as_container_sees_it(request);
  inner.disconnected = nullptr;  // the client goes at once, and means no harm
  const Status started =
      async_.start(id, [this, inner = std::move(inner)] { return without_stream(invocation(inner)); });
  if (!started.ok()) return validation_error(started.error().message);
  return accepted_reply(request, id);
}

HttpReply SageMakerFront::fetch_async(const HttpRequest& request) {
  const std::string_view path = request.path;
  AsyncCalls::Found found = async_.find(path.substr(path.rfind('/') + 1));
  if (found.state == AsyncCalls::State::kDone) return std::move(found.reply);
  if (found.state == AsyncCalls::State::kUnknown) {
    return refusal({ErrorCode::kNotFound, "there is no such asynchronous call; replies are kept for an hour", ""});
  }
  HttpReply reply;
  reply.status = 202;
  reply.body = to_json_text(Value(Value::Object{{"status", Value("waiting")}}));
  return reply;
}

}  // namespace assay::server
