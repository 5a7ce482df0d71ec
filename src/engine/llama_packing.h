#pragma once
// Which of a model's weights this program's own kernels compute (src/kernels): settled before a model loads, done
// after.

#include <cstdint>
#include <memory>
#include <string>

#include "assay/error.h"
#include "assay/options.h"

namespace assay::engine {

// "auto", "on", "panel", "off".
const char* packing_name(Packing packing);

// What is known of a model's memory before it loads.
struct PackingNeeds {
  std::uint64_t model_bytes = 0;   // without packed copies
  std::uint64_t packed_bytes = 0;  // of packed copies at most
  bool experts = false;            // some of them of experts
};

struct PackingReport {
  Packing mode = Packing::kOff;  // never kAuto
  std::string unit;              // "avx512-vnni"; empty when off
  std::string experts;           // weights of experts are "packed", or "plain" in our buffers; empty: none are there
  std::uint64_t bytes = 0;       // of packed copies
  double seconds = 0;            // of the load that went into it, with reading or writing the cache
  bool behind = false;           // copies are packed while the start goes on
  std::string cache = "off";     // "read", "written", "failed" or "off"
  std::string cache_path;        // empty when off
};

// Before llama.cpp loads: says to ggml what it may offer for this model's weights. With kAuto that is decided
// afterwards, but for weights of experts: they are ours only where the copies of all fit now, since llama.cpp's kernels
// are faster on its own packed weights than on plain ones in our buffers. Off where a GPU computes, where the CPU has
// no unit that is worth it, and where it has one that was never compared with ggml's kernels. REQUIRES: start_llama().
void prepare_packing(const ModelOptions& options, const PackingNeeds& needs);

// After loading, before anything computes: packs. `needed_bytes`: what the model takes without packed copies; kAuto
// packs where both fit into the free memory, else weights are packed panel by panel in each product. Errors:
// kOutOfMemory.
Result<PackingReport> finish_packing(const ModelOptions& options, std::uint64_t needed_bytes);

// What finish_packing() packed for the last model, for the next one of the same file: held beyond the first one's end,
// it is not packed again. Memory without a use when the next is another, so let go of it then. nullptr: nothing to
// keep.
std::shared_ptr<const void> keep_packing();

}  // namespace assay::engine
