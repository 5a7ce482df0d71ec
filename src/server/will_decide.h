#pragma once
// Whether a request is for a decision, said before all of it is there.

#include "server/http/http_message.h"
#include "server/route_table.h"

namespace assay::server {

// By the route, the headers and as much of the body as there is: on paths of several wires the first keys say it, and
// while they do not, the answer is false. False for JSON Lines, where each line is a request, and for sessions.
bool will_decide(const Route& route, const HttpRequest& request);

}  // namespace assay::server
