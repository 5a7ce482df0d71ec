#pragma once
// Flags that are not ours, told apart from those that are.

#include <string>
#include <vector>

#include "cli/option_spec.h"

namespace assay::cli {

struct ToldApart {
  std::vector<std::string> ours;
  std::vector<std::string> foreign;  // `--flag=value` as two words
};

// Takes the foreign flags of the command, with the words that belong to them, out of `words` (what stands behind the
// command's name). What neither knows stays with ours. In long names '_' counts as '-'.
ToldApart tell_apart(const CommandSpec& command, const std::vector<std::string>& words);

// The foreign flags for a help text; empty where there are none.
std::string foreign_help(const CommandSpec& command);

}  // namespace assay::cli
