#include "assay/error.h"

namespace assay {

const char* error_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kTooLong:
      return "too_long";
    case ErrorCode::kUnsupportedModel:
      return "unsupported_model";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kMediaType:
      return "media_type";
    case ErrorCode::kUnauthorized:
      return "unauthorized";
    case ErrorCode::kOverloaded:
      return "overloaded";
    case ErrorCode::kTooBusy:
      return "too_busy";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kDeadline:
      return "deadline";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kNonfiniteLogits:
      return "nonfinite_logits";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kUnauthorized:
      return 401;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kTooLong:
      return 413;
    case ErrorCode::kMediaType:
      return 415;
    case ErrorCode::kTooBusy:
      return 429;
    case ErrorCode::kCancelled:
      return 499;
    case ErrorCode::kOverloaded:
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kDeadline:
      return 504;
    case ErrorCode::kUnsupportedModel:
    case ErrorCode::kNonfiniteLogits:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kTooLong:
    case ErrorCode::kNotFound:
    case ErrorCode::kUnsupportedModel:
      return 2;
    default:
      return 1;
  }
}

}  // namespace assay
