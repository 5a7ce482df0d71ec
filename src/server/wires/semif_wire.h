#pragma once
// SemIf's JSON as a wire: wire.h reads it, wire_reply.h writes it.

#include "server/wires/wire.h"
#include "server/wires/wire_format.h"
#include "server/wires/wire_settings.h"

namespace assay::server {

// Keeps a reference to the report, which must outlive it. Errors are {"error", "code", …} with semif_status().
class SemifWire final : public Wire {
 public:
  SemifWire(const WireSettings& settings, const ModelReport& model);
  std::variant<ParsedWire, WireRefusal> parse(const HttpRequest& request) const override;
  WireRefusal refuse(const Error& error) const override;

 private:
  const WireOptions limits_;
  const ModelReport& model_;
};

}  // namespace assay::server
