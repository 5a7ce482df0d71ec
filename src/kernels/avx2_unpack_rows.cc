#include "kernels/unpack_rows.h"

// Compiled for AVX2 (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX2__)

#include "kernels/cpu_features.h"
#include "kernels/unpack_rows_rules.h"

namespace assay::kernels {

UnpackRow avx2_unpack(UnpackKind kind) { return cpu_has(CpuFeature::kAvx2) ? unpack_here(kind) : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

UnpackRow avx2_unpack(UnpackKind) { return nullptr; }

}  // namespace assay::kernels

#endif
