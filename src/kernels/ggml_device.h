#pragma once
// Assay's device in ggml's registry: the CPU with the matrix products of packed weights computed by this room's units.
//
// How it gets in (docs/kernels.md): a device of type ACCEL offers llama.cpp a type of buffer for the weights that it
// can pack, and the backend that llama.cpp then makes for each context is one of ggml's own CPU backends whose graphs
// are looked through before they are computed: products that are ours become custom nodes, all else stays as it is. So
// there is one graph and one team of threads, ggml's.

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/ggml_weights.h"

namespace assay::kernels {

// False where only the scalar unit works: then the device is never registered.
bool device_is_worth_it();

// False where the unit's speed was never compared with ggml's kernels (Unit::untried): use it only when asked to.
bool device_is_tried();

// For models that are loaded from now on. The first call with a mode other than kOff registers the device; REQUIRES:
// after ggml's own backends are there. Thread-safe. Does nothing where device_is_worth_it() is false.
void use_kernels(PackMode mode);
PackMode kernels_mode();

// The name of the unit that computes, "avx512-vnni".
std::string unit_name();

}  // namespace assay::kernels
