#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/ggml_device.h"
#include "kernels/testing/ggml_device_case.h"

// Weights in F16, BF16 and F32 on the device: 16-bit integers in the packed copies.

namespace assay::kernels {
namespace {

using testing::compute;
using testing::DeviceTest;
using testing::Floats;
using testing::new_context;
using testing::our_backend;
using testing::Owned;
using testing::plain_backend;
using testing::random_floats;
using testing::relative_difference;
using testing::same_bits;
using testing::Weights;

const std::vector<ggml_type> kFloatTypes = {GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32};

// relu(w0 x) + w1 x in doubles, of the weights as the file has them.
Floats exact_sums(const Weights& weights, const Floats& x, std::int64_t rows) {
  const std::int64_t depth = weights[0]->ne[0];
  const std::int64_t columns = weights[0]->ne[1];
  Floats plain[2];
  for (std::size_t which : {0U, 1U}) {
    plain[which].resize(static_cast<std::size_t>(depth * columns));
    const ggml_to_float_t to_float = ggml_get_type_traits(weights[which]->type)->to_float;
    if (to_float == nullptr) {
      std::memcpy(plain[which].data(), weights[which]->data, ggml_nbytes(weights[which]));
    } else {
      to_float(weights[which]->data, plain[which].data(), depth * columns);
    }
  }
  Floats out;
  for (std::int64_t row = 0; row < rows; row++) {
    for (std::int64_t column = 0; column < columns; column++) {
      double sums[2] = {};
      for (std::size_t which : {0U, 1U}) {
        for (std::int64_t k = 0; k < depth; k++)
          sums[which] += double{x[static_cast<std::size_t>(row * depth + k)]} *
                         plain[which][static_cast<std::size_t>(column * depth + k)];
      }
      out.push_back(static_cast<float>(std::max(sums[0], 0.0) + sums[1]));
    }
  }
  return out;
}

// Nearer to the exact sum than ggml where it rounds rows to 8 bits of mantissa (BF16), and about as near where it keeps
// 11 (F16) of them.
TEST_F(DeviceTest, FloatsAreComputedCloseToTheExactSum) {
  for (const ggml_type type : kFloatTypes) {
    const Weights weights(type, 512, 100, 1);
    EXPECT_TRUE(is_ours(*weights[0])) << ggml_type_name(type);
    const Floats x = random_floats(512 * 33, 2);
    const Floats before = compute(plain_backend().get(), weights, x, 33);
    const Floats wanted = exact_sums(weights, x, 33);
    ASSERT_TRUE(pack_weights(2, {}).complete);
    ASSERT_NE(packed_copy(*weights[0]), nullptr);
    const Floats ours = compute(our_backend(2).get(), weights, x, 33);
    EXPECT_LT(relative_difference(ours, wanted), 3e-4) << ggml_type_name(type);
    EXPECT_FALSE(same_bits(ours, before)) << ggml_type_name(type) << ": was it ours that computed?";
    EXPECT_TRUE(same_bits(compute(plain_backend().get(), weights, x, 33), before)) << ggml_type_name(type);
    if (type == GGML_TYPE_BF16) {
      EXPECT_LT(relative_difference(ours, wanted), relative_difference(before, wanted));
    }
  }
}

// Rows of a product in bytes and of one in words are quantised apart, though the input and the group are the same.
TEST_F(DeviceTest, BytesAndWordsOfTheSameRowsDoNotMix) {
  const Weights bytes(GGML_TYPE_Q8_0, 256, 64, 31);
  const Weights words(GGML_TYPE_F16, 256, 64, 32);
  ASSERT_TRUE(pack_weights(2, {}).complete);
  const Floats x = random_floats(256 * 9, 33);
  const auto run = [&](ggml_tensor* first, ggml_tensor* second) {
    const Owned<ggml_backend> backend = our_backend(2);
    const Owned<ggml_context> context = new_context();
    ggml_tensor* const input = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 256, 9);
    ggml_tensor* const sum = ggml_concat(context.get(), ggml_mul_mat(context.get(), first, input),
                                         ggml_mul_mat(context.get(), second, input), 1);
    ggml_cgraph* const graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, sum);
    const Owned<ggml_backend_buffer> buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
    ggml_backend_tensor_set(input, x.data(), 0, ggml_nbytes(input));
    EXPECT_EQ(ggml_backend_graph_compute(backend.get(), graph), GGML_STATUS_SUCCESS);
    Floats out(static_cast<std::size_t>(ggml_nelements(sum)));
    ggml_backend_tensor_get(sum, out.data(), 0, ggml_nbytes(sum));
    return out;
  };
  const Floats mixed = run(bytes[0], words[0]);
  const Floats all_bytes = run(bytes[0], bytes[0]);
  const Floats all_words = run(words[0], words[0]);
  EXPECT_TRUE(std::equal(mixed.begin(), mixed.begin() + 9 * 64, all_bytes.begin()));
  EXPECT_TRUE(std::equal(mixed.begin() + 9 * 64, mixed.end(), all_words.begin()));
}

}  // namespace
}  // namespace assay::kernels
