#pragma once
// System One as a wire: systemone_request.h reads it, systemone_reply.h writes it, systemone_error.h says no.

#include "server/wires/wire_format.h"
#include "server/wires/wire_settings.h"

namespace assay::server {

class SystemOneWire final : public Wire {
 public:
  explicit SystemOneWire(const WireSettings& settings) : settings_(settings) {}
  std::variant<ParsedWire, WireRefusal> parse(const HttpRequest& request) const override;
  WireRefusal refuse(const Error& error) const override;

 private:
  const WireSettings settings_;
};

}  // namespace assay::server
