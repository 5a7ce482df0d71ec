#pragma once
// The config file: TOML, or JSON when the name ends in ".json". Both give the same flat list of entries.

#include <string>
#include <vector>

#include "assay/error.h"

namespace assay::cli {

// `threads = 4` below `[serve]` is {"serve", "threads", {"4"}}; at the top the section is empty.
struct ConfigEntry {
  std::string section;
  std::string key;  // dashes are written as underscores
  std::vector<std::string> values;
};

// Errors: kNotFound (no such file), kInvalidArgument (not TOML or JSON, nested deeper than one section).
Result<std::vector<ConfigEntry>> read_config_file(const std::string& path);

}  // namespace assay::cli
