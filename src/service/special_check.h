#pragma once
// Refuses requests whose texts spell a control token (SpecialTokens::kReject).

#include "assay/decision.h"
#include "engine/encoder.h"

namespace assay::service {

// kInvalidArgument with the path of the first text that holds one.
Status refuse_special_tokens(const DecisionRequest& request, const engine::Encoder& encoder);

}  // namespace assay::service
