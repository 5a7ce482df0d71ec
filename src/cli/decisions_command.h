#pragma once
// `assay decisions export`: what a server kept, as lines that `assay verify` reads.

#include <cstdint>
#include <string>

#include "cli/option_spec.h"
#include "cli/streams.h"

namespace assay::cli {

struct DecisionsFlags {
  std::string what;    // "export"
  std::string from;    // the file, or the folder of lessons that it lies in
  std::string output;  // empty or "-": standard output
  std::uint64_t after = 0;
  std::uint64_t limit = 0;
  bool labelled = false;
};

CommandSpec decisions_command(DecisionsFlags& flags);
// Needs no model. A file that is being written to by a server may be read.
int run_decisions(const DecisionsFlags& flags, Streams& streams);

}  // namespace assay::cli
