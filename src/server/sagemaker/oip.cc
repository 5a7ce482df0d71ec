#include "server/sagemaker/oip.h"

#include <algorithm>
#include <utility>

#include "assay/value.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

HttpReply reply_of(int status, Value::Object members) {
  HttpReply reply;
  reply.status = status;
  reply.body = to_json_text(Value(std::move(members)));
  return reply;
}

HttpReply readiness(const char* key, bool is_ready) { return reply_of(is_ready ? 200 : 503, {{key, Value(is_ready)}}); }

HttpReply model_reply(std::string_view name) {
  return reply_of(200, {{"name", text_value(name)},
                        {"versions", Value(Value::Array{Value("1")})},
                        {"platform", Value("gguf")},
                        {"inputs", Value(Value::Array{})},
                        {"outputs", Value(Value::Array{})}});
}

}  // namespace

HttpReply oip_reply(std::string_view path, bool is_ready, const std::vector<std::string>& model_names) {
  if (path == "/v2") {
    return reply_of(
        200, {{"name", Value("assay")}, {"version", Value(ASSAY_VERSION)}, {"extensions", Value(Value::Array{})}});
  }
  if (path == "/v2/health/live") return readiness("live", true);
  if (path == "/v2/health/ready") return readiness("ready", is_ready);
  std::string_view name = path.substr(std::string_view("/v2/models/").size());
  const bool asks_ready = name.ends_with("/ready");
  name = name.substr(0, name.find('/'));
  if (std::find(model_names.begin(), model_names.end(), name) == model_names.end()) {
    return reply_of(404, {{"error", text_value("there is no model '" + std::string(name) + "' here")}});
  }
  return asks_ready ? readiness("ready", is_ready) : model_reply(name);
}

}  // namespace assay::server
