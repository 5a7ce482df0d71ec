#pragma once
// GET /execution-parameters: how SageMaker's batch transform may ask this server.

#include <cstddef>
#include <string>

namespace assay::server {

// {"MaxConcurrentTransforms": …, "BatchStrategy": "MULTI_RECORD", "MaxPayloadInMB": …}. The payload is the body's
// limit in whole megabytes (2^20 bytes), at least 1 and at most 6, which is what SageMaker takes without being told; so
// many at once that all payloads together are at most the 100 MB that SageMaker allows, at least 1, and never more than
// `requests_at_once`.
std::string execution_parameters_body(std::size_t body_bytes_max, std::size_t requests_at_once);

}  // namespace assay::server
