#include "service/no_lessons.h"

namespace assay::service {

Status refuse_lessons(const DecisionRequest& request) {
  if (request.lesson != "auto" && request.lesson != "none") {
    return invalid_argument("x_lesson", "x_lesson names a lesson, and this server keeps none; leave it out");
  }
  if (!request.calibrated) return {};
  return invalid_argument("x_calibrated",
                          "x_calibrated asks for calibrated probabilities, and this server has no calibration for its "
                          "model; leave it out or say false");
}

}  // namespace assay::service
