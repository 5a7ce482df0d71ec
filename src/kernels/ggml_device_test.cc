#include "kernels/ggml_device.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "kernels/testing/ggml_device_case.h"

namespace assay::kernels {
namespace {

using testing::compute;
using testing::DeviceTest;
using testing::Floats;
using testing::new_context;
using testing::our_backend;
using testing::Owned;
using testing::PackFolder;
using testing::plain_backend;
using testing::random_floats;
using testing::relative_difference;
using testing::same_bits;
using testing::Weights;

const std::vector<ggml_type> kTypes = {
    GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,   GGML_TYPE_Q8_0,   GGML_TYPE_Q2_K, GGML_TYPE_Q3_K,
    GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4};

TEST_F(DeviceTest, EachTypeIsComputedCloseToItsOwnValues) {
  for (const ggml_type type : kTypes) {
    const Weights weights(type, 512, 100, 1);
    EXPECT_TRUE(is_ours(*weights[0])) << ggml_type_name(type);
    const Floats x = random_floats(512 * 33, 2);
    const Floats before = compute(plain_backend().get(), weights, x, 33);
    ASSERT_TRUE(pack_weights(2, {}).complete);
    ASSERT_NE(packed_copy(*weights[0]), nullptr);
    const Floats ours = compute(our_backend(2).get(), weights, x, 33);
    // Both round activations to 8 bits; ours rounds the weights to 8 bits once more.
    EXPECT_LT(relative_difference(ours, before), 0.02) << ggml_type_name(type);
    EXPECT_FALSE(same_bits(ours, before)) << ggml_type_name(type) << ": was it ours that computed?";
    // The plain weights are still there for everything else.
    EXPECT_TRUE(same_bits(compute(plain_backend().get(), weights, x, 33), before)) << ggml_type_name(type);
  }
}

TEST_F(DeviceTest, PackedOnceOrInEachProductIsTheSame) {
  for (const ggml_type type :
       {GGML_TYPE_Q4_1, GGML_TYPE_Q8_0, GGML_TYPE_Q6_K, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32}) {
    const Weights weights(type, 768, 117, 3);
    const Floats x = random_floats(768 * 9, 4);
    const Floats in_panels = compute(our_backend(2).get(), weights, x, 9);
    ASSERT_TRUE(pack_weights(1, {}).complete);
    EXPECT_TRUE(same_bits(compute(our_backend(2).get(), weights, x, 9), in_panels)) << ggml_type_name(type);
  }
}

TEST_F(DeviceTest, PackedBehindTheyGiveTheSameBits) {
  for (const ggml_type type : {GGML_TYPE_Q4_1, GGML_TYPE_Q6_K, GGML_TYPE_BF16}) {
    for (const std::int64_t rows : {1, 9}) {
      const Weights weights(type, 768, 117, 3);
      const Floats x = random_floats(static_cast<std::size_t>(768 * rows), 4);
      const PackOutcome outcome = pack_weights(2, {}, {}, PackWhen::kBehind);
      EXPECT_TRUE(outcome.complete && outcome.behind);
      const Floats at_once = compute(our_backend(2).get(), weights, x, rows);
      const Weights others(type, 768, 117, 3);
      ASSERT_TRUE(pack_weights(2, {}).complete);
      EXPECT_TRUE(same_bits(compute(our_backend(2).get(), others, x, rows), at_once)) << ggml_type_name(type);
    }
  }
}

TEST_F(DeviceTest, WeightsThatGoWhileTheyArePackedHarmNobody) {
  for (int i = 0; i < 8; i++) {
    const Weights weights(GGML_TYPE_Q4_1, 1024, 256, 3);
    ASSERT_TRUE(pack_weights(3, {}, {}, PackWhen::kBehind).behind);
  }
}

TEST_F(DeviceTest, WeightsFromTheCacheGiveTheSameBits) {
  const PackFolder folder;
  const Floats x = random_floats(512 * 9, 4);
  Floats packed;
  const PackCachePlace place{.dir = folder.text(), .model = "the file's hash"};
  for (const PackCacheUse use : {PackCacheUse::kWritten, PackCacheUse::kRead, PackCacheUse::kRead}) {
    const Weights weights(GGML_TYPE_Q4_1, 512, 100, 21);
    const PackOutcome outcome = pack_weights(2, {}, place);
    EXPECT_EQ(outcome.cache, use);
    EXPECT_EQ(outcome.read_fault + outcome.write_fault, "");
    const Floats out = compute(our_backend(2).get(), weights, x, 9);
    if (packed.empty()) packed = out;
    EXPECT_TRUE(same_bits(out, packed));
  }
  EXPECT_EQ(folder.files(), 1);
}

TEST_F(DeviceTest, OtherWeightsHaveAnotherFile) {
  const PackFolder folder;
  const PackCachePlace place{.dir = folder.text(), .model = "the file's hash"};
  const auto use = [&](ggml_type type, std::int64_t columns, std::uint32_t seed, const PackCachePlace& where) {
    const Weights weights(type, 512, columns, seed);
    return pack_weights(2, {}, where).cache;
  };
  EXPECT_EQ(use(GGML_TYPE_Q4_0, 64, 1, place), PackCacheUse::kWritten);
  EXPECT_EQ(use(GGML_TYPE_Q4_0, 64, 2, place), PackCacheUse::kWritten);  // another file that claims the same hash
  EXPECT_EQ(use(GGML_TYPE_Q5_0, 64, 1, place), PackCacheUse::kWritten);
  EXPECT_EQ(use(GGML_TYPE_Q4_0, 80, 1, place), PackCacheUse::kWritten);
  EXPECT_EQ(use(GGML_TYPE_Q4_0, 64, 1, {.dir = place.dir, .model = "another build"}), PackCacheUse::kWritten);
  EXPECT_EQ(folder.files(), 5);
  EXPECT_EQ(use(GGML_TYPE_Q4_0, 64, 1, place), PackCacheUse::kRead);
}

TEST_F(DeviceTest, ACacheThatIsDamagedOrCannotBeWrittenChangesNoBits) {
  const PackFolder folder;
  const Floats x = random_floats(512 * 9, 4);
  const Weights weights(GGML_TYPE_Q6_K, 512, 100, 22);
  PackCachePlace place{.dir = folder.text(), .model = "the file's hash"};
  PackOutcome outcome = pack_weights(2, {}, place);
  const Floats packed = compute(our_backend(2).get(), weights, x, 9);
  {
    std::fstream file(outcome.cache_path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  const Weights again(GGML_TYPE_Q6_K, 512, 100, 22);
  outcome = pack_weights(2, {}, place);
  EXPECT_EQ(outcome.cache, PackCacheUse::kWritten);
  EXPECT_EQ(outcome.read_fault, "block 0 is damaged");
  EXPECT_TRUE(same_bits(compute(our_backend(2).get(), again, x, 9), packed));
  const Weights third(GGML_TYPE_Q6_K, 512, 100, 22);
  place.dir = outcome.cache_path;  // a file where a folder should be
  outcome = pack_weights(2, {}, place);
  EXPECT_TRUE(outcome.complete);
  EXPECT_EQ(outcome.cache, PackCacheUse::kNone);
  EXPECT_NE(outcome.write_fault, "");
  EXPECT_TRUE(same_bits(compute(our_backend(2).get(), third, x, 9), packed));
}

TEST_F(DeviceTest, KeptCopiesAreTheNextModelsOfTheSameFile) {
  const Floats x = random_floats(512 * 9, 4);
  const PackCachePlace place{.dir = {}, .model = "the file"};
  Floats packed;
  std::shared_ptr<const void> kept;
  {
    const Weights weights(GGML_TYPE_Q4_1, 512, 100, 23);
    EXPECT_EQ(pack_weights(2, {}, place).cache, PackCacheUse::kNone);
    packed = compute(our_backend(2).get(), weights, x, 9);
    kept = keep_packed();
    EXPECT_EQ(kept_bytes(), 0u);  // the model has them
  }
  EXPECT_GT(kept_bytes(), 0u);
  const Weights again(GGML_TYPE_Q4_1, 512, 100, 23);
  EXPECT_EQ(pack_weights(2, {}, place).cache, PackCacheUse::kKept);
  EXPECT_EQ(kept_bytes(), 0u);
  EXPECT_EQ(unpacked_totals().tensors, 0u);
  EXPECT_TRUE(same_bits(compute(our_backend(2).get(), again, x, 9), packed));
  const Weights third(GGML_TYPE_Q4_1, 512, 100, 23);
  EXPECT_EQ(pack_weights(2, {}, place).cache, PackCacheUse::kNone);  // they are somebody's
}

TEST_F(DeviceTest, KeptCopiesOfOtherWeightsAreLetGo) {
  const auto keep = [] {
    const Weights weights(GGML_TYPE_Q4_1, 512, 100, 23);
    pack_weights(2, {}, {.dir = {}, .model = "the file"});
    return keep_packed();
  };
  const auto use = [](std::uint32_t seed, const std::string& file) {
    const Weights weights(GGML_TYPE_Q4_1, 512, 100, seed);
    return pack_weights(2, {}, {.dir = {}, .model = file}).cache;
  };
  std::shared_ptr<const void> kept = keep();
  EXPECT_EQ(use(24, "the file"), PackCacheUse::kNone);
  EXPECT_EQ(kept_bytes(), 0u);
  EXPECT_EQ(use(23, "the file"), PackCacheUse::kNone);
  kept = keep();
  EXPECT_EQ(use(23, "another file"), PackCacheUse::kNone);
  kept = keep();
  kept.reset();
  EXPECT_EQ(kept_bytes(), 0u);
  EXPECT_EQ(use(23, "the file"), PackCacheUse::kNone);
  EXPECT_EQ(keep_packed(), nullptr);  // no model has any
}

TEST_F(DeviceTest, RowsAreTheSameAloneInPlanesAndWithAnyThreads) {
  for (const ggml_type type : {GGML_TYPE_Q4_K, GGML_TYPE_F16, GGML_TYPE_BF16}) {
    const Weights weights(type, 512, 200, 5);
    ASSERT_TRUE(pack_weights(2, {}).complete);
    const Floats x = random_floats(512 * 24, 6);
    const Floats together = compute(our_backend(2).get(), weights, x, 24);
    EXPECT_TRUE(same_bits(compute(our_backend(1).get(), weights, x, 24), together));
    EXPECT_TRUE(same_bits(compute(our_backend(3).get(), weights, x, 24), together));
    EXPECT_TRUE(same_bits(compute(our_backend(2).get(), weights, x, 24, 4), together));
    for (const std::int64_t row : {0, 7, 23}) {
      const Floats alone =
          compute(our_backend(2).get(), weights, Floats(x.begin() + row * 512, x.begin() + row * 512 + 512), 1);
      EXPECT_TRUE(same_bits(alone, Floats(together.begin() + row * 200, together.begin() + row * 200 + 200))) << row;
    }
  }
}

TEST_F(DeviceTest, ABackendComputesGraphAfterGraphOfOtherSizes) {
  const Weights weights(GGML_TYPE_Q4_0, 256, 64, 7);
  ASSERT_TRUE(pack_weights(2, {}).complete);
  const Owned<ggml_backend> backend = our_backend(2);
  const Floats x = random_floats(256 * 300, 8);
  const Floats all = compute(backend.get(), weights, x, 300);
  for (const std::int64_t rows : {1, 64, 299, 5}) {
    const Floats some = compute(backend.get(), weights, x, rows);
    EXPECT_TRUE(same_bits(some, Floats(all.begin(), all.begin() + rows * 64))) << rows;
  }
}

TEST_F(DeviceTest, NewWeightsAreNotComputedWithTheOldCopy) {
  Weights weights(GGML_TYPE_Q4_0, 256, 64, 9);
  ASSERT_TRUE(pack_weights(2, {}).complete);
  weights.set(0, 100);
  EXPECT_EQ(packed_copy(*weights[0]), nullptr);
  EXPECT_NE(packed_copy(*weights[1]), nullptr);
  const Floats x = random_floats(256 * 4, 10);
  const Floats unpacked = compute(our_backend(2).get(), weights, x, 4);
  EXPECT_LT(relative_difference(unpacked, compute(plain_backend().get(), weights, x, 4)), 0.02);
}

TEST_F(DeviceTest, WhatItCannotPackItLeaves) {
  const Owned<ggml_context> context = new_context();
  const auto tensor = [&](ggml_type type, std::int64_t depth, std::int64_t columns, std::int64_t planes) {
    return *ggml_new_tensor_3d(context.get(), type, depth, columns, planes);
  };
  EXPECT_TRUE(can_pack(tensor(GGML_TYPE_Q4_0, 32, 16, 1)));
  EXPECT_FALSE(can_pack(tensor(GGML_TYPE_Q4_0, 32, 15, 1)));
  EXPECT_TRUE(can_pack(tensor(GGML_TYPE_Q4_0, 32, 16, 2)));  // experts
  EXPECT_FALSE(can_pack(tensor(GGML_TYPE_Q4_0, 32, 15, 2)));
  EXPECT_FALSE(can_pack(*ggml_new_tensor_4d(context.get(), GGML_TYPE_Q4_0, 32, 16, 2, 2)));
  EXPECT_TRUE(can_pack(tensor(GGML_TYPE_F16, 32, 16, 1)));
  EXPECT_TRUE(can_pack(tensor(GGML_TYPE_BF16, 32, 16, 1)));
  EXPECT_TRUE(can_pack(tensor(GGML_TYPE_F32, 32, 16, 1)));
  EXPECT_FALSE(can_pack(tensor(GGML_TYPE_F16, 48, 16, 1)));
  EXPECT_FALSE(can_pack(tensor(GGML_TYPE_IQ2_XXS, 256, 16, 1)));
}

TEST_F(DeviceTest, TotalsFollowTheBuffers) {
  const PackTotals before = packed_totals();
  {
    const Weights weights(GGML_TYPE_Q4_0, 256, 64, 11);
    EXPECT_EQ(unpacked_totals().tensors, 2u);
    EXPECT_EQ(unpacked_totals().packed_bytes, 2u * (256 * 64 + 64 * 8 * 4));
    ASSERT_TRUE(pack_weights(2, {}).complete);
    EXPECT_EQ(packed_totals().tensors, before.tensors + 2);
    const Weights words(GGML_TYPE_F16, 256, 64, 11);
    EXPECT_EQ(unpacked_totals().plain_bytes, 2U * 256 * 64 * 2);
    EXPECT_EQ(unpacked_totals().packed_bytes, 2U * (256 * 64 * 2 + 64 * 8 * 4));
  }
  EXPECT_EQ(packed_totals().tensors, before.tensors);
}

// Queries out of a product, four heads over two key-value heads, a causal mask behind 60 cells of which half are
// hidden.
Floats attend(ggml_backend* backend, const Weights& weights, const Floats& x, std::int64_t rows) {
  constexpr std::int64_t kDepth = 64;
  constexpr std::int64_t kCells = 256;
  const Owned<ggml_context> context = new_context();
  ggml_tensor* const input = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 256, rows);
  ggml_tensor* const product = ggml_mul_mat(context.get(), weights[0], input);
  ggml_tensor* const q =
      ggml_permute(context.get(), ggml_reshape_3d(context.get(), product, kDepth, 4, rows), 0, 2, 1, 3);
  // Cells as llama.cpp keeps them: all heads of a cell side by side.
  ggml_tensor* const k = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, kDepth, 2, kCells);
  ggml_tensor* const v = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, kDepth, 2, kCells);
  ggml_tensor* const mask = ggml_new_tensor_2d(context.get(), GGML_TYPE_F16, kCells, rows);
  ggml_tensor* const out = ggml_flash_attn_ext(context.get(), q, ggml_permute(context.get(), k, 0, 2, 1, 3),
                                               ggml_permute(context.get(), v, 0, 2, 1, 3), mask, 0.125F, 0, 0);
  ggml_cgraph* const graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, out);
  const Owned<ggml_backend_buffer> buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend));
  ggml_backend_tensor_set(input, x.data(), 0, ggml_nbytes(input));
  std::vector<ggml_fp16_t> halves(static_cast<std::size_t>(ggml_nelements(k)));
  for (ggml_tensor* const cache : {k, v}) {
    const Floats floats = random_floats(ggml_nelements(cache), cache == k ? 21 : 22);
    ggml_fp32_to_fp16_row(floats.data(), halves.data(), ggml_nelements(cache));
    ggml_backend_tensor_set(cache, halves.data(), 0, ggml_nbytes(cache));
  }
  Floats masks(static_cast<std::size_t>(ggml_nelements(mask)));
  for (std::int64_t row = 0; row < rows; row++) {
    for (std::int64_t cell = 0; cell < kCells; cell++) {
      const bool seen = cell <= 60 + row && (cell < 16 || cell >= 46);
      masks[static_cast<std::size_t>(row * kCells + cell)] = seen ? 0.0F : -INFINITY;
    }
  }
  halves.resize(masks.size());
  ggml_fp32_to_fp16_row(masks.data(), halves.data(), ggml_nelements(mask));
  ggml_backend_tensor_set(mask, halves.data(), 0, ggml_nbytes(mask));
  EXPECT_EQ(ggml_backend_graph_compute(backend, graph), GGML_STATUS_SUCCESS);
  Floats result(static_cast<std::size_t>(ggml_nelements(out)));
  ggml_backend_tensor_get(out, result.data(), 0, ggml_nbytes(out));
  return result;
}

TEST_F(DeviceTest, AttentionIsThatOfGgmlAndARowsOwn) {
  const Weights weights(GGML_TYPE_Q8_0, 256, 256, 12);
  ASSERT_TRUE(pack_weights(2, {}).complete);
  const Floats x = random_floats(256 * 100, 13);
  const Floats ours = attend(our_backend(2).get(), weights, x, 100);
  EXPECT_LT(relative_difference(ours, attend(plain_backend().get(), weights, x, 100)), 0.03);
  EXPECT_TRUE(same_bits(attend(our_backend(1).get(), weights, x, 100), ours));
  if (chosen_attention() == nullptr) GTEST_SKIP() << "attention stays with ggml here";
  for (const std::int64_t rows : {2, 17, 63, 64}) {
    EXPECT_TRUE(
        same_bits(attend(our_backend(2).get(), weights, x, rows), Floats(ours.begin(), ours.begin() + rows * 256)))
        << rows;
  }
}

TEST_F(DeviceTest, OffOffersNothing) {
  ggml_backend_dev_t device = ggml_backend_dev_by_name("Assay");
  const Owned<ggml_context> context = new_context();
  ggml_tensor* const product = ggml_mul_mat(context.get(), ggml_new_tensor_2d(context.get(), GGML_TYPE_Q4_0, 64, 32),
                                            ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 5));
  EXPECT_TRUE(ggml_backend_dev_supports_op(device, product));
  use_kernels(PackMode::kOff);
  EXPECT_FALSE(ggml_backend_dev_supports_op(device, product));
}

}  // namespace
}  // namespace assay::kernels
