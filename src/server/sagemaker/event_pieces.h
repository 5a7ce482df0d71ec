#pragma once
// Server-sent events one by one. Clients behind SageMaker (Strands, LiteLLM) read each piece of a reply as one event,
// so a piece holds exactly one, and comments, which keep a connection alive elsewhere, are left out.

#include <string>
#include <string_view>
#include <utility>

#include "server/http/http_message.h"

namespace assay::server {

// Used by one thread.
class EventPieces {
 public:
  explicit EventPieces(BodyWriter write) : write_(std::move(write)) {}

  // Sends on each event ("...\n\n") that is complete by now. False once the client has gone.
  bool add(std::string_view piece);
  // Sends on what came behind the last event.
  bool finish();

 private:
  const BodyWriter write_;
  std::string held_;
  bool is_there_ = true;
};

// `reply` with its events one by one when it is a stream of them; else as it is.
HttpReply with_single_events(HttpReply reply);

}  // namespace assay::server
