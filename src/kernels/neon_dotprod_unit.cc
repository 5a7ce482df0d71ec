#include "kernels/unit.h"

// The place of a kernel for ARM: sdot on panels of 16 columns (weights xor 0x80 are signed), four rows by 16 columns of
// accumulators, the quantiser as in avx2_tiles.h. Until it is written ARM computes with the scalar unit in tests, and
// the device stays off (kernels/ggml_device.h), so that all products stay with ggml's own ARM kernels.

namespace assay::kernels {

const Unit* neon_dotprod_unit() { return nullptr; }

}  // namespace assay::kernels
