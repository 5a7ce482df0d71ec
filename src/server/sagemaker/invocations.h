#pragma once
// POST /invocations: SageMaker has one path for everything, so the body, or a header, says which of this server's
// routes a request is for.

#include <string>
#include <string_view>

#include "assay/error.h"
#include "server/http/http_message.h"

namespace assay::server {

inline constexpr const char* kInvocationsPath = "/invocations";
inline constexpr const char* kCustomAttributesHeader = "X-Amzn-SageMaker-Custom-Attributes";

// The path that answers the request. Where X-Amzn-SageMaker-Custom-Attributes has "route=PATH" (anywhere in it; the
// path ends at ',', ';' or a blank) that path, which must be one of invocation_routes(). Else by the body's keys, the
// first that fits: messages "/v1/chat/completions"; decision, decisions, or questions kInvocationsPath itself, whose
// wires see to decisions; documents "/v1/rerank"; prompt "/v1/completions"; input "/v1/responses" where it is a list of
// messages or stands beside a key of Responses only, else "/v1/embeddings". Anything else is kInvocationsPath. Whether
// the server has the path is not looked at. Errors: kInvalidArgument for a route that is not allowed.
Result<std::string> invocation_path(const HttpRequest& request);

// True for the paths that "route=" may name: decisions, and those of llama-server that compute something for the caller
// and change nothing of the server.
bool is_invocation_route(std::string_view path);

// The header's value when it may come back as it is: 1 to 1024 visible ASCII characters or blanks. Else empty.
std::string custom_attributes_of(const HttpRequest& request);

}  // namespace assay::server
