#include "server/sagemaker/execution_parameters.h"

#include <algorithm>

#include "assay/value.h"
#include "server/wires/wire_json.h"

namespace assay::server {

std::string execution_parameters_body(std::size_t body_bytes_max, std::size_t requests_at_once) {
  constexpr std::size_t kMegabyte = std::size_t{1024} * 1024;
  constexpr std::size_t kPayloadMax = 6;
  constexpr std::size_t kAllPayloadsMax = 100;
  const std::size_t payload = std::clamp<std::size_t>(body_bytes_max / kMegabyte, 1, kPayloadMax);
  const std::size_t at_once = std::clamp<std::size_t>(requests_at_once, 1, kAllPayloadsMax / payload);
  return to_json_text(Value(Value::Object{{"MaxConcurrentTransforms", size_value(at_once)},
                                          {"BatchStrategy", Value("MULTI_RECORD")},
                                          {"MaxPayloadInMB", size_value(payload)}}));
}

}  // namespace assay::server
