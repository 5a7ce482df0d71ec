#pragma once
// What single headers of a request say, and how some of a reply are written.

#include <cstdint>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace assay::server {

// Who asks, by the API key that came with the request, found as the HTTP layer finds it: the Authorization header
// without a leading "Bearer ", else X-Api-Key. The first 16 hex digits of the key's SHA-256, never the key; empty
// without one.
std::string client_of(const HttpRequest& request);
// True for application/json with or without parameters, in any case.
bool is_json_media_type(std::string_view content_type);
// The number in a Content-Length header; 0 where there is none, or no number; the largest for more digits than any
// number has.
std::uint64_t content_length(const HttpRequest& request);
// The value of Retry-After: whole seconds, at least 1 and at most an hour, whatever was estimated.
std::string retry_after_text(double seconds);

}  // namespace assay::server
