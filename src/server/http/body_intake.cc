#include "server/http/body_intake.h"

#include "server/http/layer_replies.h"
#include "server/routes.h"

namespace assay::server {

bool BodyIntake::takes(std::size_t bytes) {
  if (refusal_) return false;
  if (bytes > bytes_max_ - bytes_) {
    refusal_ = layer_refusal(request_, 413, too_large(bytes_max_));
  } else if (!share_.add(bytes)) {
    refusal_ = layer_refusal(request_, 503, too_many_bodies());
  } else {
    bytes_ += bytes;
  }
  return !refusal_.has_value();
}

bool BodyIntake::append(std::string_view piece) {
  if (!takes(piece.size())) return false;
  request_.body.append(piece);
  if (!asked_ && bytes_ > kLargeBodyBytes) {
    asked_ = true;
    refusal_ = routes_.refuse_large(request_);
  }
  return !refusal_.has_value();
}

}  // namespace assay::server
