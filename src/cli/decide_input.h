#pragma once
// What `assay decide` is asked, from flags or from a JSON body.

#include <string>
#include <vector>

#include "cli/decide_command.h"
#include "cli/rows.h"

namespace assay::cli {

struct DecideInput {
  std::vector<Row> rows;  // one or more, all on the same state
  std::vector<Image> images = {};
  bool is_list = false;  // the body was {"decisions": [...]}
};

// {"decision": {...}}, {"decisions": [...]}, a bare row or a JevBench record. Errors: kInvalidArgument.
Result<DecideInput> decide_input_from_json(const std::string& text);

// Reads what the flags name. A state that no flag gives is read from standard input unless that is a terminal.
// Errors: kInvalidArgument, kNotFound, kIo.
Result<DecideInput> read_decide_input(const DecideFlags& flags, const Streams& streams);

}  // namespace assay::cli
