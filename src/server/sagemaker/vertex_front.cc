#include "server/sagemaker/vertex_front.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "server/sagemaker/endpoint_replies.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr const char* kFormat = "@requestFormat";

std::string error_text(int status, const std::string& message) {
  return to_json_text(Value(Value::Object{
      {"error", Value(Value::Object{{"code", count_value(status)},
                                    {"message", text_value(message)},
                                    {"type", Value(status < 500 ? "invalid_request_error" : "server_error")}})}}));
}

HttpReply refusal(const std::string& message) {
  HttpReply reply;
  reply.status = 400;
  reply.body = error_text(400, message);
  return reply;
}

// The instance as a body of its own.
std::string body_of(const Value& instance) {
  Value::Object body;
  for (const auto& [key, value] : *instance.object()) {
    if (key != kFormat) body.emplace_back(key, key == "stream" ? Value(false) : value);
  }
  return to_json_text(Value(std::move(body)));
}

bool has_parameter(const Route& route) { return std::string_view(route.path).find_first_of("{:") != std::string::npos; }

}  // namespace

std::string vertex_format_of(std::string_view path) {
  if (path.starts_with("/v1")) path.remove_prefix(3);
  if (path.starts_with('/')) path.remove_prefix(1);
  std::string out;
  bool is_next_upper = false;
  for (const char c : path) {
    if (c == '/' || c == '-' || c == '_') {
      is_next_upper = true;
      continue;
    }
    out += is_next_upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    is_next_upper = false;
  }
  return out;
}

VertexFront::VertexFront(const VertexOptions& options, const std::vector<Route>& routes, Dispatch dispatch)
    : options_(options), routes_(routes), dispatch_(std::move(dispatch)) {}

// A path's POST comes before its GET.
const Route* VertexFront::route_for(const std::string& format) const {
  const Route* found = nullptr;
  for (const Route& route : routes_) {
    if (has_parameter(route) || route.kind == RouteKind::kVertex) continue;
    if (format != route.path && format != vertex_format_of(route.path)) continue;
    if (std::string_view(route.method) == "POST") return &route;
    if (found == nullptr && std::string_view(route.method) == "GET") found = &route;
  }
  return found;
}

std::string VertexFront::prediction(const HttpRequest& request, const Value& instance) const {
  if (!instance.is_object()) return error_text(400, "each instance must be a JSON object");
  const Value* format = instance.find(kFormat);
  if (format == nullptr || !format->is_string()) {
    return error_text(400, "each instance must include a string @requestFormat");
  }
  const Route* route = route_for(*format->string());
  if (route == nullptr) {
    return error_text(400, "no route is meant by @requestFormat '" + format->string()->substr(0, 100) +
                               "'; chatCompletions, systemone and decide are some");
  }
  HttpRequest inner{.method = route->method, .path = route->path, .headers = {}, .body = "", .query_text = ""};
  for (const auto& [name, value] : request.headers) {
    const std::string lower_name = lower_case(name);
    if (lower_name != "content-type" && lower_name != "content-length" && lower_name != "accept") {
      inner.headers.emplace_back(name, value);
    }
  }
  inner.headers.emplace_back("Content-Type", "application/json");
  inner.disconnected = request.disconnected;
  if (inner.method == "POST") inner.body = body_of(instance);
  const HttpReply reply = dispatch_(inner);
  if (reply.stream) return error_text(400, "a stream cannot be one of several predictions");
  if (reply.body.empty()) return "null";
  const Result<Value> json = parse_json(reply.body);
  return json.ok() ? reply.body : to_json_text(text_value(reply.body));
}

HttpReply VertexFront::predict(const HttpRequest& request) const {
  const Result<Value> top = parse_json(request.body);
  if (!top.ok()) return refusal(top.error().message);
  const Value* instances = top->find("instances");
  if (instances == nullptr || !instances->is_array()) return refusal("instances: an array must be there");
  const Value::Array& all = *instances->array();
  if (all.size() > kVertexInstancesMax) {
    return refusal("instances: " + std::to_string(all.size()) + " are more than " +
                   std::to_string(kVertexInstancesMax));
  }
  std::vector<std::string> predictions(all.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < all.size(); i = next.fetch_add(1)) {
      predictions[i] = prediction(request, all[i]);
    }
  };
  std::vector<std::thread> threads;
  try {
    for (std::size_t i = 1; i < std::min(options_.instances_at_once, all.size()); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    threads.shrink_to_fit();  // the system gives no more threads: those that are there do it
  }
  work();
  for (std::thread& thread : threads) thread.join();
  HttpReply reply;
  reply.body = "{\"predictions\": [";
  for (std::size_t i = 0; i < predictions.size(); ++i) reply.body += (i > 0 ? ", " : "") + predictions[i];
  reply.body += "]}";
  return reply;
}

}  // namespace assay::server
