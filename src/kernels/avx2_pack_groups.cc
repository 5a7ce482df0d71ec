#include "kernels/pack_groups.h"

// Compiled for AVX2 (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX2__)

#include "kernels/cpu_features.h"
#include "kernels/pack_groups_rules.h"

namespace assay::kernels {

PackGroups avx2_pack_groups() { return cpu_has(CpuFeature::kAvx2) ? pack_groups_here : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

PackGroups avx2_pack_groups() { return nullptr; }

}  // namespace assay::kernels

#endif
