#pragma once
// How SageMaker's own front shows a container to its clients: the headers that it turns round, and the form of an
// error. With it boto3 asks this server as it asks an endpoint (endpoint_url="http://...").

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace assay::server {

inline constexpr std::size_t kAsyncBodyBytesMax = 128'000;  // as SageMaker's

// The request as it reaches a container: POST /invocations, Content-Type and Accept from X-Amzn-SageMaker-... where the
// client had to put them there, the signature left out. A body without a type, or "application/octet-stream", is JSON.
HttpRequest as_container_sees_it(const HttpRequest& request);

// A container's reply as it reaches the client. An error becomes 424 with x-amzn-ErrorType: ModelError and
// {"Message", "OriginalStatusCode", "OriginalMessage", "LogStreamArn"}; the original text is cut at 2048 bytes.
HttpReply as_client_sees_it(HttpReply reply);

// The reply in frames of event_stream.h, its content type in X-Amzn-SageMaker-Content-Type. Errors stay as they are.
HttpReply in_frames(HttpReply reply);

// A stream's body, collected.
HttpReply without_stream(HttpReply reply);

// 400 with x-amzn-ErrorType: ValidationError.
HttpReply validation_error(const std::string& message);

// 202 for an asynchronous call, with the address at which its reply will be.
HttpReply accepted_reply(const HttpRequest& request, const std::string& id);

// 1 to 64 letters, digits, '-', '_' or '.': what can stand in a path.
bool is_inference_id(std::string_view text);

std::string lower_case(std::string_view text);  // ASCII only

}  // namespace assay::server
