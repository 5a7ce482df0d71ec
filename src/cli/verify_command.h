#pragma once
// `assay verify`: computes again what receipts speak of, and says where the two differ.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "cli/streams.h"

namespace assay::cli {

struct VerifyFlags {
  ModelFlags model;
  std::string file;  // receipts, one a line; "-" is standard input
  bool json = false;
  std::string layout = "auto";  // of requests that name none, as the server had it
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec verify_command(VerifyFlags& flags);

// The names of the parts of a receipt that differ, in the order model, build, settings, tokens, scores.
std::vector<std::string> receipt_differences(const Receipt& expected, const Receipt& computed);

// Asks each line's request again and compares receipts. The whole file is read before the model is loaded. Exit codes:
// 0 all are equal; 1 scores differ somewhere with all else equal, or the model failed; 2 the file or a flag is broken
// (the message names the line); 3 something else differs, or a request is refused; 130 when the context said stop.
int run_verify(const VerifyFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open);

}  // namespace assay::cli
