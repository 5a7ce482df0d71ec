#pragma once
// ggml's K-quants and half-sized floats as floats, with AVX2 and AVX-512: to the bit what ggml's own functions give,
// which are compiled for any CPU and take most of the time of packing.

#include <cstdint>

namespace assay::kernels {

enum class UnpackKind { kQ4K, kQ5K, kQ6K, kF16, kBf16 };

// `count` (a multiple of 256, of 32 for floats) numbers out of blocks as they lie in the file. ggml_to_float_t.
using UnpackRow = void (*)(const void* blocks, float* out, std::int64_t count);

// Each is null where this program or this CPU lacks it.
UnpackRow avx2_unpack(UnpackKind kind);
UnpackRow avx512_unpack(UnpackKind kind);

}  // namespace assay::kernels
