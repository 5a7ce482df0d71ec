#pragma once
// Images through llama.cpp's projectors (mtmd), on a model that is loaded.

#include <cstdint>
#include <memory>
#include <string>

#include "assay/error.h"
#include "assay/options.h"
#include "engine/llama_model.h"
#include "engine/media.h"

namespace assay::engine {

struct ProjectorFacts {
  std::string name;  // its type, such as "qwen3vl_merger"
  std::uint64_t file_bytes = 0;
  // Why decisions cannot read images through it; empty: they can.
  std::string refused;
};

// Reads a projector's metadata only. Errors: kNotFound, kUnsupportedModel (no GGUF, no projector).
Result<ProjectorFacts> inspect_projector(const std::string& path);

// What images take beside the model: the projector and a context of their own. Measured by llama.cpp's dry runs. 0
// where options.mmproj is empty. Errors: kUnsupportedModel. REQUIRES: settled options.
Result<std::uint64_t> media_memory_bytes(const ModelOptions& options);

// Loads model.options().mmproj and makes a context for jobs with images. REQUIRES: the model outlives it, and nothing
// else computes meanwhile. Errors: kUnsupportedModel with llama.cpp's own last words, kOutOfMemory.
Result<std::unique_ptr<MediaDecoder>> open_media(const LlamaModel& model);

}  // namespace assay::engine
