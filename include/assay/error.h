#pragma once
// Errors as values. A function that can fail for the caller's or the world's fault returns Result<T>; a fault of
// our own is ASSAY_ASSERT (base/assert.h). Nothing throws across a room's border.

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace assay {

// The closed set of what can go wrong. http_status() and exit_code() are the only maps out of it.
enum class ErrorCode {
  kInvalidArgument,   // the request breaks a rule; `field` names where
  kTooLong,           // more tokens, bytes or options than a stated limit; nothing is ever cut
  kUnsupportedModel,  // the GGUF cannot make decisions; the message says why
  kNotFound,          // a file or a route does not exist
  kMediaType,         // a body that is not application/json
  kUnauthorized,      // a missing or wrong API key
  kOverloaded,        // the queue is full; trying again later can succeed
  kTooBusy,           // by the measured rate the answer would come after the deadline; refused at once
  kUnavailable,       // loading or shutting down
  kDeadline,          // the deadline passed before the answer was there
  kCancelled,         // the caller went away
  kNonfiniteLogits,   // the model produced NaN or infinity
  kOutOfMemory,       // memory is short, found before or while loading
  kIo,                // reading or writing failed
  kInternal,          // a fault of ours that was caught
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;             // one sentence: what, where, and the limit
  std::string field;               // the path of the offending field, such as "decision.options[3].id"; may be empty
  double retry_after_seconds = 0;  // when trying again can succeed; 0: not known
};

// "invalid_argument", "nonfinite_logits", … : the stable name used on wires, in metrics and in logs.
const char* error_name(ErrorCode code);
// The HTTP status of a code on Assay's own wires: 400, 401, 404, 413, 415, 429, 499, 500, 503, 504.
int http_status(ErrorCode code);
// The exit code of a command that ends with this error: 2 for a caller's fault, 1 otherwise.
int exit_code(ErrorCode code);

// A value or an Error. REQUIRES: value() only when ok(), error() only when not ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor): return values read well
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

inline Error invalid_argument(std::string field, std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(field)};
}

}  // namespace assay
