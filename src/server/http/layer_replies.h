#pragma once
// What the HTTP layer itself answers, when no route can: a message that is not HTTP, a body that is too large, a server
// that is still loading.

#include <cstddef>
#include <string>

#include "assay/error.h"
#include "server/http/connection.h"
#include "server/http/http_message.h"

namespace assay::server {

// The error as clients of the request's path read errors, with a request id as routes give it. 503 and 429 carry
// Retry-After: 1.
HttpReply layer_refusal(const HttpRequest& request, int status, const Error& error);
// Before there is a model. Probes get their state instead of an error.
HttpReply loading_reply(const HttpRequest& request);
// For a path that does not stand behind the prefix: 404.
HttpReply outside_reply(const HttpRequest& request, const std::string& path_prefix);
// For a request that the HTTP library gave up with this status: 408 when the client was too slow, 431 when its head is
// larger than a header may be.
HttpReply reply_for_status(const HttpRequest& request, int status, const Connection& connection);
// A whole reply, head and body, for connections whose request nobody reads. It closes the connection.
std::string bytes_of_refusal(int status, const Error& error);

Error slow_request();
Error too_large(std::size_t bytes_max);
Error too_many_bodies();

}  // namespace assay::server
