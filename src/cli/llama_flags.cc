#include "cli/llama_flags.h"

#include <algorithm>
#include <array>
#include <string>

namespace assay::cli {
namespace {

// What its parser does not say: values that are words for yes and no, and flags that it no longer has.
constexpr std::array<std::string_view, 4> kOnOffs = {"fit", "flash-attn", "log-colors", "reasoning"};
constexpr std::array<std::string_view, 5> kRemoved = {"direct-io", "mlock", "mmap", "no-direct-io", "no-mmap"};

template <typename Names>
bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::optional<LlamaFlagKind> llama_flag_kind(std::string_view name, const std::vector<ForeignFlag>& flags) {
  if (has(kOnOffs, name)) return LlamaFlagKind::kOnOff;
  const std::string word = "--" + std::string(name);
  for (const ForeignFlag& flag : flags) {
    if (!has(flag.names, word)) continue;
    return flag.values == 0 ? LlamaFlagKind::kSwitch : flag.values == 1 ? LlamaFlagKind::kValue : LlamaFlagKind::kTwo;
  }
  if (has(kRemoved, name)) return LlamaFlagKind::kRemoved;
  return std::nullopt;
}

}  // namespace assay::cli
