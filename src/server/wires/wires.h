#pragma once
// All the wires of a server, and which of them a request is for.

#include <string_view>

#include "server/route_table.h"
#include "server/wires/chat_decide.h"
#include "server/wires/openai_decisions.h"
#include "server/wires/semif_wire.h"
#include "server/wires/systemone_wire.h"

namespace assay::server {

// Immutable. Keeps a reference to the report.
class Wires {
 public:
  Wires(const WireSettings& settings, const ModelReport& model);
  Wires(const Wires&) = delete;
  Wires& operator=(const Wires&) = delete;

  // Whose errors a route has as long as its body is not known; System One's where no wire stands behind it.
  const Wire& of_route(RouteKind kind) const;
  // Who reads this body. /invocations: System One for a state and an object of questions, OpenAI decisions for an input
  // and a list of questions, SemIf for decision or decisions; decisions of OpenAI's path with a state are System One's.
  // nullptr: no wire of this path knows such a body. REQUIRES: a route that decides.
  const Wire* of_body(RouteKind kind, std::string_view body) const;

 private:
  const SemifWire semif_;
  const SystemOneWire system_one_;
  const OpenAiDecisionsWire decisions_;
  const ChatDecideWire chat_;
};

// What to say where of_body() finds none.
inline constexpr const char* kNoKnownShape =
    "the body must hold decision or decisions (SemIf), state and an object of questions (System One), or input and a "
    "list of questions (OpenAI decisions)";

}  // namespace assay::server
