#pragma once
// `assay teach`: labelled rows of one question in, a lesson out that answers it from hidden states.

#include "cli/labelled_rows.h"
#include "cli/learn_flags.h"

namespace assay::cli {

struct TeachFlags {
  ModelFlags model;
  LabelledFiles rows;
  LearnFlags learn;
  std::string method = "auto";
  std::vector<std::string> cues;
  std::uint64_t zero_shot_rows = 200;
  bool no_curve = false;
  bool keep_rows = false;
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec teach_command(TeachFlags& flags);

// Reads the hidden states, chooses and fits, prints what it found and writes the lesson. Exit codes: 0; 2 for the
// caller's fault, the rows' included; 130 when the context said stop; 1 otherwise.
int run_teach(const TeachFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open);

}  // namespace assay::cli
