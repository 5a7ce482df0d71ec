#pragma once
// From words on the command line to filled option structs. A value comes from the flag, else from the environment,
// else from the config file, else it keeps its default.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/error.h"
#include "cli/option_spec.h"

namespace assay::cli {

using ReadEnvironment = std::function<std::optional<std::string>(const std::string&)>;

struct ParsedCommand {
  std::string name;       // of the command to run; empty when there is only text to print
  std::string help_text;  // for --help and for no command at all
  // What flags said, as environment variables: another process with these reads the same (lists joined by commas).
  std::vector<std::pair<std::string, std::string>> given = {};
  // In the same form what flags, environment and config file said.
  std::vector<std::pair<std::string, std::string>> settled = {};
};

// Reads `arguments` (without the program's name), fills the options of the one command that was named and leaves the
// others alone. `--config FILE` or ASSAY_CONFIG names the config file. Errors are usage errors in one sentence
// (kInvalidArgument, kNotFound for the config file), with the nearest name where a flag, command or key is unknown.
Result<ParsedCommand> parse_command_line(const std::vector<CommandSpec>& commands,
                                         const std::vector<std::string>& arguments, const ReadEnvironment& environment);

}  // namespace assay::cli
