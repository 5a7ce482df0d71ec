#pragma once
// The bodies that the server writes. All of them are JSON objects with keys in a fixed order; doubles are written so
// that reading them gives the same bits, and 1.0 never as 1.

#include <cstddef>
#include <string>
#include <vector>

#include "assay/decider.h"
#include "server/wires/wire.h"

namespace assay::server {

// The day of this release, shown by GET /v1/models. A constant, so that equal builds give equal bytes.
inline constexpr const char* kReleaseDate = "2026-11-29";
inline constexpr std::int64_t kReleaseUnixSeconds = 1795910400;  // the same day, 00:00 UTC

// What of a request its reply depends on.
struct SemifReply {
  bool single = true;         // {"result": R}, else {"results": …}
  bool explain = false;       // x_explain
  bool hidden_state = false;  // x_hidden_state
  bool confidence = false;    // x_confidence and x_abstained: the request has an x_min_confidence
};
SemifReply semif_reply_shape(const WireRequest& wire);

// The body of a decided request: {"result": R} for a single decision, {"results": [R, …], "timing": T} otherwise, with
// SemIf's field names, and behind them x_answer_cache and x_receipt where there is something to say. What was not
// measured is not written. kNonfiniteLogits when any number is NaN or infinite: no such reply is ever written.
// REQUIRES: `reply` answers `wire`.
Result<std::string> semif_reply(const SemifReply& shape, const DecisionReply& reply, const ModelReport& model);
Result<std::string> semif_reply(const WireRequest& wire, const DecisionReply& reply, const ModelReport& model);
// One answer of several for the event stream: {"id": the decision's, "answer": R}.
Result<std::string> semif_answer(const SemifReply& shape, const Answer& answer, const ModelReport& model);

// {"error": text, "code": name, "field": path, "retryable": true}: field only when there is one, retryable only when
// sending the same request again later can succeed.
std::string error_body(const Error& error);

// GET /v1/models: the loaded model once in OpenAI's form ("data"; its input_modalities say whether decisions read
// images) with what is known about it ("meta"), and once for each of `names`, the first its own, in TypeSafe's form
// ("models"). REQUIRES: a name.
std::string models_body(const ModelReport& model, const std::vector<std::string>& names);

// What GET /health tells.
struct Health {
  std::string status;  // "ok", "draining" or "failed"
  std::int32_t context_tokens = 0;
  std::int32_t chat_context_tokens = 0;  // 0: there is no chat, or it does not say
  WireOptions limits;
  std::size_t in_flight = 0;  // requests accepted and not yet answered
  std::size_t queued = 0;     // jobs that hold nothing of the model yet
  std::size_t running = 0;    // jobs partly computed
  bool asleep = false;        // the model is not in memory until somebody needs it
};
// {"status": …, "limits": {what one request may hold}, "in_flight": n, "queued": n, "running": n}, and "sleeping": true
// while it is asleep. The limits have "chat_context_tokens" where there is chat.
std::string health_body(const Health& health);

// {"status": …}: GET /ping.
std::string ping_body(const std::string& status);

}  // namespace assay::server
