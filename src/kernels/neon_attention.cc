#include "kernels/attention.h"

// Compiled for any 64-bit ARM: no standard templates here.

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels/attention_tiles.h"

namespace assay::kernels {
namespace {

// 16 floats in four registers; of 32 registers the sums take 20.
struct Neon {
  struct Floats {
    float32x4_t q[4];
  };
  static constexpr int kScoreRows = 5;
  static constexpr int kScorePanels = 1;
  static constexpr int kOutRows = 5;
  static constexpr int kOutVectors = 1;

  // What `function` makes of each quarter.
  template <typename Function>
  static Floats each(const Function& function) {
    return {{function(0), function(1), function(2), function(3)}};
  }

  static Floats all(float x) {
    return each([&](int) { return vdupq_n_f32(x); });
  }
  static float32x4_t broadcast(const float* at) { return vld1q_dup_f32(at); }
  static Floats load(const float* at) {
    return each([&](int i) { return vld1q_f32(at + i * 4); });
  }
  static void store(float* at, const Floats& x) { store_anywhere(at, x); }
  static void store_anywhere(float* at, const Floats& x) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) vst1q_f32(at + i * 4, x.q[i]);
  }
  static Floats halves(const Half* at) {
    return each([&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(at + i * 4))); });
  }
  static Floats column(const float* at) {
    return each([&](int i) {
      const float* const from = at + static_cast<std::ptrdiff_t>(i) * 64;
      const float four[4] = {from[0], from[16], from[32], from[48]};
      return vld1q_f32(four);
    });
  }
  static void add_product(Floats& sums, float32x4_t x, const Floats& y) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) sums.q[i] = vfmaq_f32(sums.q[i], x, y.q[i]);
  }
  static Floats fma(const Floats& x, const Floats& y, const Floats& z) {
    return each([&](int i) { return vfmaq_f32(z.q[i], x.q[i], y.q[i]); });
  }
  static Floats mul(const Floats& x, const Floats& y) {
    return each([&](int i) { return vmulq_f32(x.q[i], y.q[i]); });
  }
  static Floats sub(const Floats& x, const Floats& y) {
    return each([&](int i) { return vsubq_f32(x.q[i], y.q[i]); });
  }
  static Floats max(const Floats& x, const Floats& y) {
    return each([&](int i) { return vmaxq_f32(x.q[i], y.q[i]); });
  }
  static float largest(const Floats& x) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.q[0], x.q[1]), vmaxq_f32(x.q[2], x.q[3])));
  }
  static Floats nearest(const Floats& x) {
    return each([&](int i) { return vrndnq_f32(x.q[i]); });
  }
  static Floats times_power(const Floats& y, const Floats& n) {
    return each([&](int i) {
      const int32x4_t exponent = vshlq_n_s32(vcvtnq_s32_f32(n.q[i]), 23);
      return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(y.q[i]), exponent));
    });
  }
  static Floats zero_below(const Floats& x, float least, const Floats& y) {
    return each([&](int i) {
      const uint32x4_t keep = vcgeq_f32(x.q[i], vdupq_n_f32(least));
      return vreinterpretq_f32_u32(vandq_u32(keep, vreinterpretq_u32_f32(y.q[i])));
    });
  }
  static bool any_not_below_infinity(const Floats& x) {
    const float32x4_t infinity = vdupq_n_f32(__builtin_inff());
    const uint32x4_t below = vandq_u32(vandq_u32(vcltq_f32(x.q[0], infinity), vcltq_f32(x.q[1], infinity)),
                                       vandq_u32(vcltq_f32(x.q[2], infinity), vcltq_f32(x.q[3], infinity)));
    return vminvq_u32(below) == 0;
  }

  struct Sum {
    int32x4_t low_units = vdupq_n_s32(0);
    int32x4_t high_units = vdupq_n_s32(0);
    void add(const Floats& weight) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) {
        const int32x4_t units = vcvtnq_s32_f32(vmulq_n_f32(weight.q[i], kSumScale));
        low_units = vaddq_s32(low_units, vandq_s32(units, vdupq_n_s32(kSumLowMask)));
        high_units = vaddq_s32(high_units, vshrq_n_s32(units, kSumLowBits));
      }
    }
    std::int64_t low() const { return vaddlvq_s32(low_units); }
    std::int64_t high() const { return vaddlvq_s32(high_units); }
  };
};

constexpr AttentionUnit kUnit{.name = "neon", .pack_keys = pack_keys<Neon>, .attend = attend<Neon>};

}  // namespace

const AttentionUnit* neon_attention() { return &kUnit; }

}  // namespace assay::kernels

#else

namespace assay::kernels {

const AttentionUnit* neon_attention() { return nullptr; }

}  // namespace assay::kernels

#endif
