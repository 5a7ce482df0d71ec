#pragma once
// The health and metadata routes of the Open Inference Protocol (github.com/kserve/open-inference-protocol), which
// Kubernetes probes and KServe ask for. Inference by tensors (/infer) is no part of a decision server.

#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"

namespace assay::server {

// GET /v2, /v2/health/live, /v2/health/ready, /v2/models/NAME and /v2/models/NAME/ready. Live is 200 as long as this
// process answers; ready, and a model's ready, are 200 or 503. A name that is none of `model_names` is 404. REQUIRES: a
// path of this form.
HttpReply oip_reply(std::string_view path, bool is_ready, const std::vector<std::string>& model_names);

}  // namespace assay::server
