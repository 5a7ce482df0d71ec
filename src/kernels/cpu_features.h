#pragma once
// What this CPU and this system let a program use.

namespace assay::kernels {

enum class CpuFeature {
  kAvx2,         // with FMA and F16C
  kAvxVnni,      // AVX2 and VNNI in 256 bits
  kAvx512Vnni,   // F, BW, DQ, VL and VNNI
  kAmxInt8,      // with kAvx512Vnni, and the kernel gives this process the tiles (asked for at the first call)
  kNeonDotprod,  // ARMv8.2's sdot
  kNeonI8mm,     // with kNeonDotprod, and smmla
};

// Thread-safe.
bool cpu_has(CpuFeature feature);

}  // namespace assay::kernels
