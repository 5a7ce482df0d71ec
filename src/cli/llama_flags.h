#pragma once
// The flags of llama-server that this program knows by name, and what each takes. The names are those of the llama.cpp
// that cmake/llama.cmake pins, from common/arg.cpp; compare them at an upgrade. llama_flags_test.cc does one half of
// that.

#include <optional>
#include <string_view>
#include <vector>

namespace assay::cli {

enum class LlamaFlagKind {
  kSwitch,   // nothing behind it
  kValue,    // one value
  kOnOff,    // one value: on, off or auto
  kRemoved,  // earlier versions had it
};

// `name` without its dashes, as "ctx-size". Nothing for a name that llama-server never had.
std::optional<LlamaFlagKind> llama_flag_kind(std::string_view name);
// All names of a kind, in code-point order.
std::vector<std::string_view> llama_flag_names(LlamaFlagKind kind);

}  // namespace assay::cli
