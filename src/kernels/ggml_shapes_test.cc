#include "kernels/ggml_shapes.h"

#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "kernels/unpack_rows.h"

namespace assay::kernels {
namespace {

constexpr std::int64_t kCount = std::int64_t{256} * 200;

// Random bits, halves that are no numbers left out: which of them comes out is nobody's promise.
std::vector<std::byte> random_blocks(ggml_type type, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> blocks(ggml_row_size(type, kCount));
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
  const std::size_t block = ggml_type_size(type);
  const std::uint16_t exponent = type == GGML_TYPE_BF16 ? 0x7f80U : 0x7c00U;
  for (std::size_t at = 0; at < blocks.size(); at += block) {
    for (const std::size_t place : type == GGML_TYPE_Q6_K ? std::vector<std::size_t>{block - 2}
                                   : block == 2           ? std::vector<std::size_t>{0}
                                                          : std::vector<std::size_t>{0, 2}) {
      std::uint16_t half = 0;
      std::memcpy(&half, &blocks[at + place], 2);
      if ((half & exponent) == exponent) half &= 0xbfffU;
      std::memcpy(&blocks[at + place], &half, 2);
    }
  }
  return blocks;
}

std::uint32_t bits_of(float number) { return std::bit_cast<std::uint32_t>(number); }

TEST(Unpack, GivesGgmlsBits) {
  int tried = 0;
  for (const auto& [type, kind] :
       {std::pair{GGML_TYPE_Q4_K, UnpackKind::kQ4K}, std::pair{GGML_TYPE_Q5_K, UnpackKind::kQ5K},
        std::pair{GGML_TYPE_Q6_K, UnpackKind::kQ6K}, std::pair{GGML_TYPE_F16, UnpackKind::kF16},
        std::pair{GGML_TYPE_BF16, UnpackKind::kBf16}}) {
    const std::vector<std::byte> blocks = random_blocks(type, 1);
    std::vector<float> theirs(kCount);
    ggml_get_type_traits(type)->to_float(blocks.data(), theirs.data(), kCount);
    for (const UnpackRow unpack : {avx2_unpack(kind), avx512_unpack(kind)}) {
      if (unpack == nullptr) continue;
      tried++;
      std::vector<float> ours(kCount, std::nanf(""));
      unpack(blocks.data(), ours.data(), kCount);
      EXPECT_TRUE(std::ranges::equal(ours, theirs, {}, bits_of, bits_of)) << ggml_type_name(type);
    }
  }
  if (tried == 0) GTEST_SKIP() << "this CPU has neither AVX2 nor AVX-512";
}

}  // namespace
}  // namespace assay::kernels
