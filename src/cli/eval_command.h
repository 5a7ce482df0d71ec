#pragma once
// `assay eval`: how often, how surely and how fast a model is right on labelled rows.

#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "cli/streams.h"

namespace assay::cli {

struct EvalFlags {
  ModelFlags model;
  std::vector<std::string> files;
  std::string option_order = "criteria";
  std::string report;       // an HTML file to write; empty: none
  std::uint64_t limit = 0;  // rows of each file; 0: all
  bool json = false;
  std::string layout = "auto";
  bool compare_layouts = false;  // both layouts, one after the other
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec eval_command(EvalFlags& flags);

// Asks every row, one at a time, and prints the numbers. A row that the model refuses counts as wrong; a row that is
// no labelled row ends the command before the model is loaded (exit code 2), because its numbers would mean nothing.
// With compare_layouts all rows are asked state first, then all question first, and both are printed side by side.
int run_eval(const EvalFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open);

}  // namespace assay::cli
