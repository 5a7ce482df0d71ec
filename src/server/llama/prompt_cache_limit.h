#pragma once
// How much memory llama.cpp may keep prompts in that lost their slot.

#include <cstdint>

namespace assay::server {

// In MiB, as --cache-ram says it: `wanted`, llama-server's own default, or half of what is left behind the weights and
// the contexts, if that is less. The other half is for requests, replies and whoever else runs here. 0, which keeps
// nothing, where half of it is not even 16 MiB: a limit that holds no prompt costs its copy and gives nothing.
int prompt_cache_mib(std::uint64_t left_bytes, int wanted);

}  // namespace assay::server
