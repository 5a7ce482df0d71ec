#pragma once
// Weights that ggml keeps in the file's own layout, mapped or in memory, with packed copies beside them.
//
// The plain weights stay where they are and stay readable, so whatever the units do not compute (embeddings, kinds of
// products, single rows in panel mode) goes on with ggml's own code. Packed copies belong to their buffer and go with
// it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/ggml_shapes.h"
#include "kernels/pack_cache.h"

struct ggml_tensor;               // NOLINT(readability-identifier-naming): their name
struct ggml_backend_buffer_type;  // NOLINT(readability-identifier-naming): their name
struct ggml_backend_device;       // NOLINT(readability-identifier-naming): their name
struct ggml_backend_buffer;       // NOLINT(readability-identifier-naming): their name

namespace assay::kernels {

enum class PackMode {
  kOff,    // ggml computes everything
  kPanel,  // weights are packed piece by piece inside of each product: no memory, worth it from some dozens of rows on
  kDense,  // weights are packed once, after loading; those of experts stay with ggml, as in kPanel
  kOn,     // all weights are packed once
};

// The packed copy of a weight tensor in one of our buffers, of experts all of them as one stack; null when it has none.
// `is_ours` also without a copy.
const PackedWeights* packed_copy(const ggml_tensor& weights);
bool is_ours(const ggml_tensor& weights);

// The type of our buffers, of which there is one. `device` is the one that it is asked by.
ggml_backend_buffer_type* weights_buffer_type(ggml_backend_device* device);
// A buffer over memory that somebody else owns, such as a mapped file.
ggml_backend_buffer* weights_in(void* memory, std::size_t bytes);

struct PackTotals {
  std::uint64_t tensors = 0;
  std::uint64_t expert_tensors = 0;  // of those: with several experts
  std::uint64_t plain_bytes = 0;
  std::uint64_t packed_bytes = 0;
};
// Of all weights in our buffers: with copies, and those that could have one. Thread-safe.
PackTotals packed_totals();
PackTotals unpacked_totals();

// Where packed weights are kept on disk.
struct PackCachePlace {
  std::string dir;  // empty: nowhere
  // What the plain weights are. With a folder: their file's SHA-256, and the build that packs; else anything that names
  // the file to this process.
  std::string model;
};

enum class PackCacheUse { kNone, kRead, kWritten, kKept };

struct PackOutcome {
  bool complete = true;  // false: memory ran out, and nothing was packed
  bool behind = false;   // it is being packed
  PackCacheUse cache = PackCacheUse::kNone;
  std::string cache_path;   // empty without a cache
  std::string read_fault;   // why a file that was there was made anew
  std::string write_fault;  // why none could be written; the weights are packed in memory all the same
};

enum class PackWhen {
  kNow,
  kBehind,  // on return it is begun, and what computes first waits for it; with a folder that has no file yet, now
};

// Packs what has no copy yet, on `threads` threads of its own (not OpenMP's: a child process may compute afterwards),
// or maps a file that has it. Without a file one is written and mapped, so that processes share its pages. Thread-safe,
// but not while those weights compute.
//
// Without a folder, copies that somebody keeps (below) are taken where they are of the same file.
PackOutcome pack_weights(std::int32_t threads, const std::function<void(float)>& progress,
                         const PackCachePlace& place = {}, PackWhen when = PackWhen::kNow);
// Waits until all that is packed behind is packed, of all models, and helps: before a graph computes, or a fork().
// Costs nothing when there is nothing to wait for. Thread-safe.
void finish_packing_behind();

// What the last pack_weights() packed in memory, held beyond its model's end for the next model, which takes it over
// when it is of the same file: a model that is loaded twice in a row is packed once. Another model lets go of it; so
// does the end of the holder. nullptr: there is nothing to keep. Thread-safe.
std::shared_ptr<const void> keep_packed();
// The memory that is held so and that no model uses: the next model has it. Thread-safe.
std::uint64_t kept_bytes();

}  // namespace assay::kernels
