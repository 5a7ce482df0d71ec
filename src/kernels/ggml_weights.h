#pragma once
// Weights that ggml keeps in the file's own layout, mapped or in memory, with packed copies beside them.
//
// The plain weights stay where they are and stay readable, so whatever the units do not compute (embeddings, kinds of
// products, single rows in panel mode) goes on with ggml's own code. Packed copies belong to their buffer and go with
// it.

#include <cstdint>
#include <functional>

#include "kernels/packed_weights.h"

struct ggml_tensor;               // NOLINT(readability-identifier-naming): their name
struct ggml_backend_buffer_type;  // NOLINT(readability-identifier-naming): their name
struct ggml_backend_device;       // NOLINT(readability-identifier-naming): their name
struct ggml_backend_buffer;       // NOLINT(readability-identifier-naming): their name

namespace assay::kernels {

enum class PackMode {
  kOff,    // ggml computes everything
  kPanel,  // weights are packed piece by piece inside of each product: no memory, worth it from some dozens of rows on
  kOn,     // weights are packed once, after loading
};

// Weights [K, N] that can be packed: two dimensions, a type of at most 8 bits, K a multiple of 32. Others stay with
// ggml.
bool can_pack(const ggml_tensor& weights);
PackedShape shape_of(const ggml_tensor& weights);
// `panels` panels of the weights, from `panel` on, into those of `into` from `into_panel` on. `floats`: room for 16
// rows.
void pack_panels(const ggml_tensor& weights, std::int64_t panel, std::int64_t panels, const PackedWeights& into,
                 std::int64_t into_panel, float* floats);

// The packed copy of a weight tensor in one of our buffers; null when it has none. `is_ours` also without a copy.
const PackedWeights* packed_copy(const ggml_tensor& weights);
bool is_ours(const ggml_tensor& weights);

// The type of our buffers, of which there is one. `device` is the one that it is asked by.
ggml_backend_buffer_type* weights_buffer_type(ggml_backend_device* device);
// A buffer over memory that somebody else owns, such as a mapped file.
ggml_backend_buffer* weights_in(void* memory, std::size_t bytes);

struct PackTotals {
  std::uint64_t tensors = 0;
  std::uint64_t plain_bytes = 0;
  std::uint64_t packed_bytes = 0;
};
// Of all weights in our buffers: with copies, and those that could have one. Thread-safe.
PackTotals packed_totals();
PackTotals unpacked_totals();

// Packs what has no copy yet, on `threads` threads of its own (not OpenMP's: a child process may compute afterwards).
// False when memory ran out; what was packed until then stays. Thread-safe, but not while those weights compute.
bool pack_weights(std::int32_t threads, const std::function<void(float)>& progress);

}  // namespace assay::kernels
