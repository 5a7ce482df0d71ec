#pragma once
// How the decision context of llama.cpp is set up; shared by the decoder and the memory estimate.

#include <cstdint>

#include "assay/options.h"

struct llama_context_params;

namespace assay::engine {

// One stream of cells for all sequences, outputs for a batch's reads only, no pooling. REQUIRES: options without zeros.
// Places for rows: the longest request, the prefix cache and some spare.
std::int32_t context_cells(const ModelOptions& options);
llama_context_params context_params(const ModelOptions& options, std::int32_t sequences_max);

}  // namespace assay::engine
