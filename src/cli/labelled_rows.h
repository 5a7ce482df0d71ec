#pragma once
// Files of labelled rows, as `assay calibrate` and `assay teach` take them.

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "assay/teaching.h"
#include "cli/question_flags.h"

namespace assay::cli {

struct LabelledFiles {
  std::vector<std::string> files;  // JSONL, JevBench records included, or CSV; "-" is JSONL from standard input
  QuestionFlags question;          // for rows that leave it out
  std::string option_order = "criteria";
  std::uint64_t limit = 0;  // rows of each file; 0: all
};

// All rows of all files. Where neither the rows nor the flags have options, the labels themselves are the options, in
// the order in which they first come. Errors name the file and the row: a row that is none, without `expected`, or
// whose label is no option.
Result<std::vector<LabelledQuestion>> read_labelled(const LabelledFiles& files, std::istream& standard_input);

// The specs of all of the above. `files` must outlive them.
std::vector<OptionSpec> labelled_options(LabelledFiles& files);

}  // namespace assay::cli
