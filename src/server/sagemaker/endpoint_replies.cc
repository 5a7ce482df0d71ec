#include "server/sagemaker/endpoint_replies.h"

#include <algorithm>
#include <utility>

#include "assay/value.h"
#include "base/utf8.h"
#include "server/http/ascii.h"
#include "server/http/event_stream.h"
#include "server/sagemaker/invocations.h"
#include "server/wires/wire_json.h"
#include "server/wires/wire_reply.h"

namespace assay::server {
namespace {

constexpr std::size_t kOriginalBytesMax = 2048;
constexpr std::size_t kInferenceIdCharsMax = 64;

HttpReply aws_error(int status, const char* type, Value::Object members) {
  HttpReply reply;
  reply.status = status;
  reply.headers.emplace_back("x-amzn-ErrorType", type);
  reply.body = to_json_text(Value(std::move(members)));
  return reply;
}

// Not within a character.
std::string cut(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  text.resize(bytes_max);
  if (const auto bad = first_invalid_utf8(text); bad.has_value()) text.resize(*bad);
  return text;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
  return out;
}

HttpRequest as_container_sees_it(const HttpRequest& request) {
  HttpRequest inner{.method = "POST",
                    .path = kInvocationsPath,
                    .headers = {},
                    .body = request.body,
                    .disconnected = request.disconnected,
                    .hold = request.hold};
  std::string type;
  for (const auto& [name, value] : request.headers) {
    const std::string lower_name = lower_case(name);
    if (lower_name == "x-amzn-sagemaker-content-type" || (lower_name == "content-type" && type.empty())) {
      type = value;
    } else if (lower_name == "x-amzn-sagemaker-accept") {
      inner.headers.emplace_back("Accept", value);
    } else if (lower_name != "content-type" && !(lower_name == "authorization" && value.starts_with("AWS4-"))) {
      inner.headers.emplace_back(name, value);
    }
  }
  if (type.empty() || lower_case(type) == "application/octet-stream") type = "application/json";
  inner.headers.emplace_back("Content-Type", type);
  return inner;
}

HttpReply as_client_sees_it(HttpReply reply) {
  if (reply.status < 400) {
    reply.headers.emplace_back("x-Amzn-Invoked-Production-Variant", "AllTraffic");
    return reply;
  }
  const std::string original = cut(std::move(reply.body), kOriginalBytesMax);
  const std::string who = reply.status < 500 ? "client" : "server";
  HttpReply out = aws_error(424, "ModelError",
                            {{"Message", text_value("Received " + who + " error (" + std::to_string(reply.status) +
                                                    ") from primary with message \"" + original + "\".")},
                             {"OriginalStatusCode", count_value(reply.status)},
                             {"OriginalMessage", text_value(original)},
                             {"LogStreamArn", Value("")}});
  for (auto& header : reply.headers) {
    if (header.first.starts_with("x-")) out.headers.push_back(std::move(header));
  }
  return out;
}

HttpReply in_frames(HttpReply reply) {
  if (reply.status >= 400) return reply;
  reply.headers.emplace_back("X-Amzn-SageMaker-Content-Type", reply.content_type);
  reply.content_type = kEventStreamFramesType;
  if (!reply.stream) {
    reply.body = payload_part(reply.body);
    return reply;
  }
  reply.stream = [stream = std::move(reply.stream)](const BodyWriter& write) {
    return stream([&write](std::string_view piece) { return write(payload_part(piece)); });
  };
  return reply;
}

HttpReply without_stream(HttpReply reply) {
  if (!reply.stream) return reply;
  const auto stream = std::exchange(reply.stream, nullptr);
  const bool is_whole = stream([&reply](std::string_view piece) {
    reply.body += piece;
    return true;
  });
  if (is_whole) return reply;
  HttpReply broken;
  broken.status = 503;
  broken.body = error_body({ErrorCode::kUnavailable, "the reply broke off", ""});
  return broken;
}

HttpReply validation_error(const std::string& message) {
  return aws_error(400, "ValidationError", {{"Message", text_value(message)}});
}

HttpReply accepted_reply(const HttpRequest& request, const std::string& id) {
  HttpReply reply;
  reply.status = 202;
  reply.body = to_json_text(Value(Value::Object{{"InferenceId", text_value(id)}}));
  const std::string* host = find_header(request, "host");
  const std::string address = host == nullptr ? "" : "http://" + *host;
  reply.headers.emplace_back("X-Amzn-SageMaker-OutputLocation", address + request.path + "/" + id);
  reply.headers.emplace_back("X-Amzn-SageMaker-FailureLocation", address + request.path + "/" + id);
  return reply;
}

bool is_inference_id(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !text.empty() && text.size() <= kInferenceIdCharsMax && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace assay::server
