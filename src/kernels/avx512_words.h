#pragma once
// The AVX-512 unit's functions for words, which the AMX unit has as well. REQUIRES: avx512_vnni_unit() is there.

#include <cstdint>

#include "kernels/unit.h"

namespace assay::kernels {

void avx512_quantise_words(const float* x, std::int32_t depth, std::int16_t* values, float* scales);
void avx512_multiply_words(const WordBlock& block);

}  // namespace assay::kernels
