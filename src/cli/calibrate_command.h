#pragma once
// `assay calibrate`: labelled rows in, a lesson out that makes the readout's probabilities mean what they say.

#include "cli/labelled_rows.h"
#include "cli/learn_flags.h"

namespace assay::cli {

struct CalibrateFlags {
  ModelFlags model;
  LabelledFiles rows;
  LearnFlags learn = {.name = "calibration"};
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec calibrate_command(CalibrateFlags& flags);

// Asks every row, fits, prints what it found and writes the lesson. Exit codes: 0; 2 for the caller's fault, the rows'
// included; 130 when the context said stop; 1 otherwise.
int run_calibrate(const CalibrateFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open);

}  // namespace assay::cli
