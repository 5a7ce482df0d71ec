#pragma once
// What deciders say that answer without lessons.

#include "assay/decision.h"
#include "assay/error.h"

namespace assay::service {

// kInvalidArgument when the request wants a lesson by its name (field "x_lesson") or calibrated probabilities (field
// "x_calibrated"): a caller who relies on them must not get others.
Status refuse_lessons(const DecisionRequest& request);

}  // namespace assay::service
