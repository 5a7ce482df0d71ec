#pragma once
// POST /v1/decisions in OpenAI's shape (docs/openai.md).

#include <string>
#include <variant>

#include "server/wires/wire_format.h"
#include "server/wires/wire_settings.h"

namespace assay::server {

// Thread-safe and without state that changes. Bodies are what openai_decisions_request.h reads, replies and events what
// openai_decisions_reply.h writes, errors OpenAI's (openai_error.h).
class OpenAiDecisionsWire final : public Wire {
 public:
  explicit OpenAiDecisionsWire(WireSettings settings);
  std::variant<ParsedWire, WireRefusal> parse(const HttpRequest& request) const override;
  WireRefusal refuse(const Error& error) const override;

 private:
  const WireSettings settings_;
};

}  // namespace assay::server
