#pragma once
// One way to write decisions as JSON: what a route reads and writes, and how it says no. The routes know nothing else
// of SemIf, System One, OpenAI decisions or chat.

#include <cstddef>
#include <functional>
#include <string>
#include <variant>

#include "assay/decider.h"
#include "server/http/http_message.h"

namespace assay::server {

// A reply that is an error, ready to be sent.
struct WireRefusal {
  int status = 500;
  std::string body;                       // JSON
  ErrorCode code = ErrorCode::kInternal;  // for the metrics
  double retry_after_seconds = 0;         // 0: not known
};

// A body that was read, with what is needed to answer it in its own terms. The functions own what they remember of the
// body; they may be called from one thread at a time.
struct ParsedWire {
  DecisionRequest request;  // `client`, `cancelled` and `on_answer` are the routes' to fill
  // The whole reply's body. kNonfiniteLogits when a number is NaN or infinite: no such reply is ever written.
  // REQUIRES: the reply answers `request`.
  std::function<Result<std::string>(const DecisionReply& reply)> write_reply;
  // What write_reply writes. JSON, unless the body itself asked for another form.
  std::string content_type = "application/json";
  // One answer as soon as it is there: the `data` of one event, JSON without a line break. Empty: this wire has no
  // stream, and Accept: text/event-stream gets the plain reply.
  std::function<Result<std::string>(std::size_t question, const Answer& answer)> write_answer;
  // A decider's error with `field` as the caller wrote it, such as "questions.q1.criteria".
  std::function<Error(Error error)> in_wire_terms;
};

// Thread-safe and without state that changes.
class Wire {
 public:
  virtual ~Wire() = default;
  // Checks everything that needs no model.
  virtual std::variant<ParsedWire, WireRefusal> parse(const HttpRequest& request) const = 0;
  // Any other error in this wire's form: a key, a media type, a size, or what the decider said (after in_wire_terms).
  virtual WireRefusal refuse(const Error& error) const = 0;
};

}  // namespace assay::server
