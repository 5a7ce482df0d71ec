#pragma once
// What a flag of llama-server takes, for variables that are to become flags.

#include <optional>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"

namespace assay::cli {

enum class LlamaFlagKind {
  kSwitch,   // nothing behind it
  kValue,    // one value
  kTwo,      // two values
  kOnOff,    // one value: on, off or auto
  kRemoved,  // earlier versions had it
};

// `name` without its dashes, as "ctx-size"; `flags`: those that llama-server has (server/llama/llama_flags.h reads them
// from its own parser). Nothing for a name that it never had.
std::optional<LlamaFlagKind> llama_flag_kind(std::string_view name, const std::vector<ForeignFlag>& flags);

}  // namespace assay::cli
