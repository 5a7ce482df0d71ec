#pragma once
// A decision from the parsed body to the reply's body, all at once or as a stream of events.

#include <cstdint>
#include <optional>
#include <string>

#include "assay/decider.h"
#include "server/http/http_message.h"
#include "server/metrics.h"
#include "server/wires/wire_format.h"

namespace assay::server {

// What a decision took.
struct DecisionCosts {
  std::int32_t input_tokens = 0;
  std::int32_t cached_tokens = 0;
  double queue_ms = 0;
  double compute_ms = 0;
};

// What became of a decision.
struct DecisionOutcome {
  int status = 200;
  std::string body;                         // the reply, or the error in its wire's form
  std::string readout = "none";             // for the metrics
  double retry_after_seconds = 0;           // of an error; 0: not known
  std::optional<DecisionCosts> costs = {};  // of an answer
  std::string decision_id = "";             // of an answer that is kept
};

// Where decisions are made and counted. Thread-safe as its parts are, which outlive it.
struct DecisionPlace {
  Decider& decider;
  Metrics& metrics;
};

// An error in a wire's form, counted. Of our own faults the text goes to the log under the request's id, not to the
// client.
DecisionOutcome refuse_decision(const DecisionPlace& place, const Wire& wire, Error error,
                                const std::string& request_id);

// Decides and writes the whole reply. Blocks; lets no exception out.
DecisionOutcome make_decision(const DecisionPlace& place, const Wire& wire, const ParsedWire& parsed,
                              const std::string& request_id);

// The same as server-sent events: an event "answer" for each question as soon as its answer is there, whose data is
// write_answer()'s; then "done" with make_decision()'s body, or "error" with the error's body. A client that does not
// take what is written counts as gone, and its decision is cancelled. Uses `parsed` up. REQUIRES: write_answer.
DecisionOutcome stream_decision(const DecisionPlace& place, const Wire& wire, ParsedWire& parsed,
                                const std::string& request_id, const BodyWriter& write);

// True when the request's Accept header likes text/event-stream better than application/json; of equals, the first.
bool wants_event_stream(const HttpRequest& request);

inline constexpr const char* kEventStreamType = "text/event-stream";

}  // namespace assay::server
