#pragma once
// Which readout a model gets: the user's setting, what an earlier check found, or the check itself.

#include "assay/options.h"
#include "service/check_file.h"
#include "service/local_decider.h"

namespace assay::service {

// Fills the report's readout, its source and the check's scores, and the record when the check is made. Errors: those
// of a request that cannot be answered for another reason than the model's size or numbers.
Status choose_readout(const DeciderOptions& options, LocalDecider& decider, CheckRecord& record);

// A warning for each type of question at which the model does not beat guessing.
void warn_of_unreliable_types(ModelReport& report);

}  // namespace assay::service
