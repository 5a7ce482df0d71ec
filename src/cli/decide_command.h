#pragma once
// `assay decide`: one decision, or several on one state, from flags, a file or standard input.

#include <optional>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "cli/question_flags.h"
#include "cli/streams.h"

namespace assay::cli {

struct DecideFlags {
  ModelFlags model;
  QuestionFlags question;
  std::optional<std::string> state;
  std::optional<std::string> state_file;  // "-" is standard input
  bool state_json = false;
  std::vector<std::string> images;  // files, PNG or JPEG
  std::string file;                 // a JSON body, or "-"; empty: the flags are the decision
  bool json = false;
  bool explain = false;
  std::string layout = "auto";
  bool receipt = false;
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec decide_command(DecideFlags& flags);

// Prints a table on a terminal and one JSON object otherwise. The exit code is the error's.
int run_decide(const DecideFlags& flags, Streams& streams, const OpenDecider& open);

}  // namespace assay::cli
