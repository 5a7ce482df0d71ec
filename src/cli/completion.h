#pragma once
// Shell completion, made from the same table as the flags.

#include <string>
#include <vector>

#include "cli/option_spec.h"

namespace assay::cli {

struct CompletionFlags {
  std::string shell;  // "bash", "zsh" or "fish"
};

CommandSpec completion_command(CompletionFlags& flags);

// Scripts to be sourced (bash), put in a folder of $fpath as "_assay" (zsh), or put in fish's completions folder.
std::string bash_completion(const std::vector<CommandSpec>& commands);
std::string zsh_completion(const std::vector<CommandSpec>& commands);
std::string fish_completion(const std::vector<CommandSpec>& commands);

// The script for the named shell. Errors: no or an unknown shell.
Result<std::string> completion_script(const CompletionFlags& flags, const std::vector<CommandSpec>& commands);

}  // namespace assay::cli
