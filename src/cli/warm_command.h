#pragma once
// `assay warm`: computes the beginnings that many requests will share, and has them written to a folder.

#include <string>

#include "assay/decision.h"
#include "cli/model_flags.h"
#include "cli/streams.h"

namespace assay::cli {

struct WarmFlags {
  ModelFlags model;             // with the folder that the beginnings go to
  std::string file;             // JSONL, or "-" for standard input
  std::string layout = "auto";  // of bodies that name none, as the server will have it
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec warm_command(WarmFlags& flags);

// The request whose shared beginning a line asks for. A line is {"state"}: that state first, whatever is asked about
// it; {"question", "options"}: that question first, whatever the state; or a body of POST /v1/decide, as it is. Other
// members of the first two are ignored. Errors: kInvalidArgument.
Result<DecisionRequest> warm_request(const std::string& line);

// Decides each line's request and drains the decider, which writes what it cached to the folder. The whole file is
// read before the model is loaded. Exit codes: 0; 1 the model failed; 2 the file or a flag is broken (the message
// names the line); 3 some lines were refused; 130 when the context said stop (what was computed is written).
int run_warm(const WarmFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open);

}  // namespace assay::cli
