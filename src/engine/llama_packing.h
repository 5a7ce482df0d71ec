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

struct PackingReport {
  Packing mode = Packing::kOff;  // never kAuto
  std::string unit;              // "avx512-vnni"; empty when off
  std::uint64_t bytes = 0;       // of packed copies
  double seconds = 0;            // that packing took, with reading or writing the cache
  std::string cache = "off";     // "read", "written", "failed" or "off"
  std::string cache_path;        // empty when off
};

// Before llama.cpp loads: says to ggml what it may offer for this model's weights. With kAuto that is decided
// afterwards. Off where a GPU computes, where the CPU has no unit that is worth it, and where it has one that was never
// compared with ggml's kernels. REQUIRES: start_llama().
void prepare_packing(const ModelOptions& options);

// After loading, before anything computes: packs. `needed_bytes`: what the model takes without packed copies; kAuto
// packs where both fit into the free memory, else weights are packed panel by panel in each product. Errors:
// kOutOfMemory.
Result<PackingReport> finish_packing(const ModelOptions& options, std::uint64_t needed_bytes);

// What finish_packing() packed for the last model, for the next one of the same file: held beyond the first one's end,
// it is not packed again. Memory without a use when the next is another, so let go of it then. nullptr: nothing to
// keep.
std::shared_ptr<const void> keep_packing();

}  // namespace assay::engine
