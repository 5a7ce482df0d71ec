#pragma once
// Which of ggml's tensors can be packed, into what, and how.

#include <cstdint>

#include "kernels/packed_weights.h"

struct ggml_tensor;  // NOLINT(readability-identifier-naming): their name

namespace assay::kernels {

// Counts changes of what is packed and how: files of packed weights that were made by another version are not read.
inline constexpr int kPackVersion = 1;

// Weights [K, N] that can be packed: two dimensions, floats or a quantised type of those in docs/kernels.md, K a
// multiple of 32, N at least 16. Others stay with ggml.
bool can_pack(const ggml_tensor& weights);
PackedShape shape_of(const ggml_tensor& weights);
// `panels` panels of the weights, from `panel` on, into those of `into` from `into_panel` on. `floats`: room for
// slice_floats().
void pack_panels(const ggml_tensor& weights, std::int64_t panel, std::int64_t panels, const PackedWeights& into,
                 std::int64_t into_panel, float* floats);
std::size_t slice_floats(const ggml_tensor& weights);

}  // namespace assay::kernels
