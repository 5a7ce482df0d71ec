#pragma once
// Which of ggml's tensors can be packed, into what, and how.

#include <cstdint>

#include "kernels/packed_weights.h"

struct ggml_tensor;  // NOLINT(readability-identifier-naming): their name

namespace assay::kernels {

// Counts changes of what is packed and how: files of packed weights that were made by another version are not read.
inline constexpr int kPackVersion = 1;

// Weights [K, N] or, of experts, [K, N, experts] that can be packed: floats or a quantised type of those in
// docs/kernels.md, K a multiple of 32, N at least 16. Others stay with ggml.
bool can_pack(const ggml_tensor& weights);
// Of the matrix, or of each expert's.
PackedShape shape_of(const ggml_tensor& weights);
// Of all that is packed: experts' panels one after another, each expert beginning with a new one, as one matrix.
PackedShape stacked_shape(const ggml_tensor& weights);
// The matrix of one expert in a stack. REQUIRES: `expert` is one of the tensor's.
PackedWeights expert_of(const PackedWeights& stack, const ggml_tensor& weights, std::int64_t expert);
// `panels` panels of the stack, from `panel` on, into those of `into` from `into_panel` on. `floats`: room for
// slice_floats().
void pack_panels(const ggml_tensor& weights, std::int64_t panel, std::int64_t panels, const PackedWeights& into,
                 std::int64_t into_panel, float* floats);
std::size_t slice_floats(const ggml_tensor& weights);

}  // namespace assay::kernels
