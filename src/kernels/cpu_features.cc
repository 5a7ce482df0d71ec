#include "kernels/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <unistd.h>

#include <cstdint>

#if defined(__linux__)
#include <sys/syscall.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace assay::kernels {

#if defined(__x86_64__)

namespace {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers leaf(unsigned number, unsigned sub) {
  Registers r;
  __get_cpuid_count(number, sub, &r.a, &r.b, &r.c, &r.d);
  return r;
}

bool bit(unsigned value, unsigned number) { return ((value >> number) & 1U) != 0; }

// Which register states the system saves: 1 and 2 SSE and AVX, 5 to 7 AVX-512, 17 and 18 tiles.
std::uint64_t saved_states() {
  if (!bit(leaf(1, 0).c, 27)) return 0;
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

bool saves(std::uint64_t mask) { return (saved_states() & mask) == mask; }

bool has_avx2() { return saves(0x6) && bit(leaf(1, 0).c, 12) && bit(leaf(1, 0).c, 29) && bit(leaf(7, 0).b, 5); }

bool has_avx512_vnni() {
  const Registers seven = leaf(7, 0);
  return has_avx2() && saves(0xe6) && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 30) && bit(seven.b, 31) &&
         bit(seven.c, 11);
}

// Linux gives tiles to those processes only that ask (arch_prctl ARCH_REQ_XCOMP_PERM, tile data); threads and children
// inherit it.
bool tiles_granted() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool has_amx_int8() {
  const Registers seven = leaf(7, 0);
  return has_avx512_vnni() && bit(seven.d, 24) && bit(seven.d, 25) && saves(0x60000) && tiles_granted();
}

}  // namespace

bool cpu_has(CpuFeature feature) {
  static const bool kAvx2 = has_avx2();
  static const bool kAvxVnni = kAvx2 && bit(leaf(7, 1).a, 4);
  static const bool kAvx512Vnni = has_avx512_vnni();
  static const bool kAmxInt8 = has_amx_int8();
  switch (feature) {
    case CpuFeature::kAvx2:
      return kAvx2;
    case CpuFeature::kAvxVnni:
      return kAvxVnni;
    case CpuFeature::kAvx512Vnni:
      return kAvx512Vnni;
    case CpuFeature::kAmxInt8:
      return kAmxInt8;
    default:
      return false;
  }
  return false;
}

#elif defined(__aarch64__) && defined(__linux__)

bool cpu_has(CpuFeature feature) {
  static const bool kDotprod = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  static const bool kI8mm = kDotprod && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  return (feature == CpuFeature::kNeonDotprod && kDotprod) || (feature == CpuFeature::kNeonI8mm && kI8mm);
}

#else

bool cpu_has(CpuFeature) { return false; }

#endif

}  // namespace assay::kernels
