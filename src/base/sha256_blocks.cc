#include "base/sha256_blocks.h"

#include "base/assert.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace assay {

#if defined(__x86_64__)
namespace {

// The first 32 bits behind the point of the cube roots of the first 64 primes (FIPS 180-4).
constexpr std::uint32_t kConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

bool find_instructions() {
  constexpr unsigned kSsse3 = 1U << 9, kSse41 = 1U << 19;  // of leaf 1
  constexpr unsigned kSha = 1U << 29;                      // of leaf 7
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSsse3) == 0 || (c & kSse41) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

}  // namespace

bool has_sha256_blocks() {
  static const bool has = find_instructions();
  return has;
}

// The instructions want the state as two halves, a b e f and c d g h, the first named in the highest place. One makes
// two rounds; two of them are a step of four, for which w[step % 4] holds the message's words. Behind the step it takes
// the words of the step four later, which follow from those of the four that there are.
__attribute__((target("sha,ssse3,sse4.1"))) void sha256_blocks(Sha256Words& state, const unsigned char* bytes,
                                                               std::size_t count) {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count > 0; count--, bytes += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) w[i] = _mm_shuffle_epi8(load(bytes + 16 * i), big_endian);
#pragma GCC unroll 16
    for (int step = 0; step < 16; step++) {
      __m128i& now = w[step % 4];
      const __m128i& last = w[(step + 3) % 4];
      const __m128i sum = _mm_add_epi32(now, load(kConstants + 4 * step));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
      if (step >= 12) continue;
      const __m128i seven_before = _mm_alignr_epi8(last, w[(step + 2) % 4], 4);
      now = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(step + 1) % 4]), seven_before);
      now = _mm_sha256msg2_epu32(now, last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
bool has_sha256_blocks() { return false; }
void sha256_blocks(Sha256Words&, const unsigned char*, std::size_t) { ASSAY_ASSERT(has_sha256_blocks()); }
#endif

}  // namespace assay
