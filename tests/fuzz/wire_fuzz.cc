// Fuzzes the JSON wire: any bytes as the body of a decision. What is accepted must keep the promises of the domain, and
// its state must survive being written and read again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assay/decision.h"
#include "assay/value.h"
#include "base/assert.h"
#include "server/wire.h"
#include "server/wire_json.h"
#include "server/wire_reply.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  const assay::Result<assay::server::WireRequest> wire = assay::server::parse_semif_request(body, {});
  if (!wire.ok()) {
    ASSAY_ASSERT(assay::server::semif_status(wire.error().code) == 400);
    ASSAY_ASSERT(assay::server::parse_json(assay::server::error_body(wire.error())).ok());
    return 0;
  }
  const assay::DecisionRequest& request = wire.value().request;
  // The wire knows no limit on an id's length; the domain does.
  const assay::Status valid = assay::validate_request(request, {.id_bytes_max = size});
  ASSAY_ASSERT(valid.ok());
  ASSAY_ASSERT(request.timeout_ms >= 0 && request.timeout_ms <= assay::server::kTimeoutMsMax);
  ASSAY_ASSERT(request.client.empty() && !request.cancelled);
  const assay::Result<assay::Value> again = assay::server::parse_json(assay::to_json_text(request.state));
  ASSAY_ASSERT(again.ok() && again.value() == request.state);
  return 0;
}
