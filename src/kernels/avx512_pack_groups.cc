#include "kernels/pack_groups.h"

// Compiled for AVX-512 (cmake/kernels.cmake): no standard templates here.

#if defined(__AVX512BW__)

#include "kernels/cpu_features.h"
#include "kernels/pack_groups_rules.h"

namespace assay::kernels {

PackGroups avx512_pack_groups() { return cpu_has(CpuFeature::kAvx512Vnni) ? pack_groups_here : nullptr; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

PackGroups avx512_pack_groups() { return nullptr; }

}  // namespace assay::kernels

#endif
