#include "kernels/unpack_rows.h"

// Compiled for AVX-512 (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX512BW__)

#include "kernels/cpu_features.h"
#include "kernels/unpack_rows_rules.h"

namespace assay::kernels {

UnpackRow avx512_unpack(UnpackKind kind) { return cpu_has(CpuFeature::kAvx512Vnni) ? unpack_here(kind) : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

UnpackRow avx512_unpack(UnpackKind) { return nullptr; }

}  // namespace assay::kernels

#endif
