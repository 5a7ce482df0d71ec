#include "kernels/ggml_experts.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/ggml_device.h"
#include "kernels/testing/ggml_device_case.h"

namespace assay::kernels {
namespace {

using testing::DeviceTest;
using testing::Floats;
using testing::new_context;
using testing::our_backend;
using testing::Owned;
using testing::PackFolder;
using testing::plain_backend;
using testing::random_floats;
using testing::random_rows;
using testing::relative_difference;
using testing::same_bits;

using Ids = std::vector<std::int32_t>;

// [depth, columns, experts] in one of our buffers, as llama.cpp would place it.
class Stack {
 public:
  Stack(ggml_type type, std::int64_t depth, std::int64_t columns, std::int64_t experts,
        const std::vector<std::byte>& bytes)
      : context_(new_context()), tensor_(ggml_new_tensor_3d(context_.get(), type, depth, columns, experts)) {
    ggml_backend_dev_t device = ggml_backend_dev_by_name("Assay");
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), ggml_backend_dev_buffer_type(device)));
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    ggml_backend_tensor_set(tensor_, bytes.data(), 0, bytes.size());
  }
  Stack(ggml_type type, std::int64_t depth, std::int64_t columns, std::int64_t experts, std::uint32_t seed)
      : Stack(type, depth, columns, experts, random_rows(type, depth, columns * experts, seed)) {}
  ggml_tensor* tensor() const { return tensor_; }
  // One of the experts as a matrix of its own.
  std::unique_ptr<Stack> matrix(std::int64_t expert) const {
    const auto* const begin = static_cast<const std::byte*>(tensor_->data) + expert * tensor_->nb[2];
    return std::make_unique<Stack>(tensor_->type, tensor_->ne[0], tensor_->ne[1], 1,
                                   std::vector<std::byte>(begin, begin + tensor_->nb[2]));
  }

 private:
  Owned<ggml_context> context_;
  Owned<ggml_backend_buffer> buffer_;
  ggml_tensor* tensor_;
};

Floats numbers_of(const ggml_tensor* tensor) {
  Floats out(static_cast<std::size_t>(ggml_nelements(tensor)));
  ggml_backend_tensor_get(tensor, out.data(), 0, ggml_nbytes(tensor));
  return out;
}

struct Routing {
  std::int64_t used = 2;  // experts of a token
  std::int64_t rows = 1;  // of a token: 1, or as many as experts
  std::int64_t tokens = 1;
  Ids ids;  // [tokens][used]
};

// Products by expert of the same rows and list with each of the stacks, one after another. The list is a part of a
// wider one, as a choice of the best is. What lies behind the results must stay.
std::vector<Floats> by_expert(ggml_backend* backend, const std::vector<const Stack*>& stacks, const Floats& x,
                              const Routing& routing) {
  constexpr std::int64_t kBeside = 3;
  const Owned<ggml_context> context = new_context();
  ggml_tensor* const input =
      ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, stacks[0]->tensor()->ne[0], routing.rows, routing.tokens);
  ggml_tensor* const wide = ggml_new_tensor_2d(context.get(), GGML_TYPE_I32, routing.used + kBeside, routing.tokens);
  ggml_tensor* const ids = ggml_view_2d(context.get(), wide, routing.used, routing.tokens, wide->nb[1], 0);
  std::vector<ggml_tensor*> outs;
  std::vector<ggml_tensor*> guards;
  ggml_cgraph* const graph = ggml_new_graph(context.get());
  for (const Stack* stack : stacks) {
    outs.push_back(ggml_mul_mat_id(context.get(), stack->tensor(), input, ids));
    guards.push_back(ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 64));
    ggml_build_forward_expand(graph, outs.back());
  }
  const Owned<ggml_backend_buffer> buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend));
  ggml_backend_buffer_clear(buffer.get(), 0x55);
  ggml_backend_tensor_set(input, x.data(), 0, ggml_nbytes(input));
  for (std::int64_t token = 0; token < routing.tokens; token++) {
    ggml_backend_tensor_set(wide, routing.ids.data() + token * routing.used,
                            static_cast<std::size_t>(token) * wide->nb[1],
                            static_cast<std::size_t>(routing.used) * sizeof(std::int32_t));
  }
  const Floats before = numbers_of(guards[0]);
  EXPECT_EQ(ggml_backend_graph_compute(backend, graph), GGML_STATUS_SUCCESS);
  std::vector<Floats> results;
  for (std::size_t i = 0; i < outs.size(); i++) {
    results.push_back(numbers_of(outs[i]));
    EXPECT_TRUE(same_bits(numbers_of(guards[i]), before));
  }
  return results;
}

// w x for each row, by a plain product of ours.
Floats plain_product(const Stack& matrix, const Floats& x) {
  const Owned<ggml_backend> backend = our_backend(1);
  const Owned<ggml_context> context = new_context();
  const std::int64_t depth = matrix.tensor()->ne[0];
  ggml_tensor* const input =
      ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, depth, static_cast<std::int64_t>(x.size()) / depth);
  ggml_tensor* const out = ggml_mul_mat(context.get(), matrix.tensor(), input);
  ggml_cgraph* const graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, out);
  const Owned<ggml_backend_buffer> buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  ggml_backend_tensor_set(input, x.data(), 0, ggml_nbytes(input));
  EXPECT_EQ(ggml_backend_graph_compute(backend.get(), graph), GGML_STATUS_SUCCESS);
  return numbers_of(out);
}

// What products by expert must give, row by row, out of plain products with each expert's matrix.
Floats expected(const Stack& stack, const Floats& x, const Routing& routing) {
  std::vector<std::unique_ptr<Stack>> matrices;
  for (std::int64_t expert = 0; expert < stack.tensor()->ne[2]; expert++) matrices.push_back(stack.matrix(expert));
  EXPECT_TRUE(pack_weights(2, {}).complete);
  const std::int64_t columns = stack.tensor()->ne[1];
  std::vector<Floats> products;
  for (const auto& matrix : matrices) products.push_back(plain_product(*matrix, x));
  Floats out;
  for (std::int64_t token = 0; token < routing.tokens; token++) {
    for (std::int64_t i = 0; i < routing.used; i++) {
      const std::int32_t expert = routing.ids[static_cast<std::size_t>(token * routing.used + i)];
      if (expert < 0 || expert >= stack.tensor()->ne[2]) {
        out.resize(out.size() + static_cast<std::size_t>(columns), 0.0F);
        continue;
      }
      const Floats& product = products[static_cast<std::size_t>(expert)];
      const std::int64_t row = token * routing.rows + i % routing.rows;
      out.insert(out.end(), product.begin() + row * columns, product.begin() + (row + 1) * columns);
    }
  }
  return out;
}

// Of five experts number 0 has no row, number 1 a single one and number 3 nearly every token.
Routing ragged(std::int64_t tokens, std::int64_t rows) {
  std::mt19937 random(77);
  Routing routing{.used = 2, .rows = rows, .tokens = tokens, .ids = {}};
  for (std::int64_t token = 0; token < tokens; token++) {
    const std::int32_t other = token == tokens / 2 ? 1 : random() % 8 == 0 ? 4 : 2;
    routing.ids.push_back(token % 2 == 0 ? 3 : other);
    routing.ids.push_back(token % 2 == 0 ? other : 3);
  }
  return routing;
}

Floats rows_for(const Stack& stack, const Routing& routing, std::uint32_t seed) {
  return random_floats(stack.tensor()->ne[0] * routing.rows * routing.tokens, seed);
}

constexpr std::int64_t kExperts = 5;

TEST_F(DeviceTest, ByExpertEachRowIsThePlainProductWithItsExpert) {
  struct Shape {
    ggml_type type;
    std::int64_t depth, columns;
  };
  for (const auto& [type, depth, columns] :
       {Shape{GGML_TYPE_Q4_K, 512, 100}, Shape{GGML_TYPE_Q6_K, 256, 16}, Shape{GGML_TYPE_Q4_1, 96, 50},
        Shape{GGML_TYPE_Q8_0, 32, 17}, Shape{GGML_TYPE_Q8_0, 544, 200}, Shape{GGML_TYPE_MXFP4, 96, 33},
        Shape{GGML_TYPE_F16, 160, 100}, Shape{GGML_TYPE_F32, 64, 128}}) {
    const Stack stack(type, depth, columns, kExperts, 1);
    for (const std::int64_t tokens : {1, 3, 130}) {
      for (const std::int64_t rows : {1, 2}) {
        const Routing routing = ragged(tokens, rows);
        const Floats x = rows_for(stack, routing, 2);
        const Floats wanted = expected(stack, x, routing);
        ASSERT_NE(packed_copy(*stack.tensor()), nullptr);
        for (const int threads : {1, 2, 3}) {
          EXPECT_TRUE(same_bits(by_expert(our_backend(threads).get(), {&stack}, x, routing)[0], wanted))
              << ggml_type_name(type) << " K " << depth << " N " << columns << ", " << tokens << " tokens of " << rows
              << " rows, " << threads << " threads";
        }
      }
    }
  }
}

TEST_F(DeviceTest, ByExpertItIsCloseToGgml) {
  for (const ggml_type type : {GGML_TYPE_Q4_K, GGML_TYPE_Q8_0, GGML_TYPE_MXFP4, GGML_TYPE_F16}) {
    const Stack stack(type, 512, 100, kExperts, 3);
    const Routing routing = ragged(40, 2);
    const Floats x = rows_for(stack, routing, 4);
    const Floats theirs = by_expert(plain_backend().get(), {&stack}, x, routing)[0];
    // Without a copy it is ggml that computes, on the weights as they are.
    EXPECT_TRUE(same_bits(by_expert(our_backend(2).get(), {&stack}, x, routing)[0], theirs)) << ggml_type_name(type);
    ASSERT_TRUE(pack_weights(2, {}).complete);
    const Floats ours = by_expert(our_backend(2).get(), {&stack}, x, routing)[0];
    EXPECT_LT(relative_difference(ours, theirs), 0.02) << ggml_type_name(type);
    EXPECT_FALSE(same_bits(ours, theirs)) << ggml_type_name(type) << ": was it ours that computed?";
  }
}

TEST_F(DeviceTest, ByExpertARowIsTheSameAloneAndInAnyOrder) {
  const Stack stack(GGML_TYPE_Q4_K, 512, 100, kExperts, 5);
  ASSERT_TRUE(pack_weights(2, {}).complete);
  const Routing routing = ragged(120, 1);
  const Floats x = rows_for(stack, routing, 6);
  const Owned<ggml_backend> backend = our_backend(2);
  const Floats together = by_expert(backend.get(), {&stack}, x, routing)[0];
  const auto token_of = [](const Floats& all, std::int64_t token, std::int64_t numbers) {
    return Floats(all.begin() + token * numbers, all.begin() + (token + 1) * numbers);
  };
  Routing backwards{.used = 2, .rows = 1, .tokens = 120, .ids = {}};
  Floats backwards_x;
  for (std::int64_t token = 120; token-- > 0;) {
    const Ids ids(routing.ids.begin() + token * 2, routing.ids.begin() + token * 2 + 2);
    const Floats row = token_of(x, token, 512);
    backwards.ids.insert(backwards.ids.end(), ids.begin(), ids.end());
    backwards_x.insert(backwards_x.end(), row.begin(), row.end());
    if (token % 17 != 0) continue;
    const Routing one{.used = 2, .rows = 1, .tokens = 1, .ids = ids};
    EXPECT_TRUE(same_bits(by_expert(backend.get(), {&stack}, row, one)[0], token_of(together, token, 200))) << token;
  }
  const Floats reversed = by_expert(backend.get(), {&stack}, backwards_x, backwards)[0];
  for (std::int64_t token = 0; token < 120; token++)
    EXPECT_TRUE(same_bits(token_of(reversed, 119 - token, 200), token_of(together, token, 200))) << token;
}

// Gate and up share what was quantised; weights of another width or group in between do not get it.
TEST_F(DeviceTest, ByExpertProductsOfTheSameRowsDoNotMix) {
  const Stack gate(GGML_TYPE_Q4_K, 256, 48, kExperts, 7);
  const Stack up(GGML_TYPE_Q4_K, 256, 64, kExperts, 8);
  const Stack words(GGML_TYPE_F16, 256, 32, kExperts, 9);
  const Stack fine(GGML_TYPE_Q8_0, 256, 32, kExperts, 10);
  const Stack fewer(GGML_TYPE_Q4_K, 256, 32, 4, 11);
  ASSERT_TRUE(pack_weights(2, {}).complete);
  const Routing routing = ragged(20, 1);
  const Floats x = rows_for(gate, routing, 12);
  const std::vector<const Stack*> stacks = {&gate, &up, &words, &gate, &fine, &words, &fewer, &up};
  const std::vector<Floats> all = by_expert(our_backend(2).get(), stacks, x, routing);
  for (std::size_t i = 0; i < stacks.size(); i++)
    EXPECT_TRUE(same_bits(by_expert(our_backend(2).get(), {stacks[i]}, x, routing)[0], all[i])) << i;
}

TEST_F(DeviceTest, ByExpertNumbersOfNoExpertMakeZerosAndTouchNothingElse) {
  for (const ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_F16}) {
    const Stack stack(type, 64, 40, kExperts, 13);
    Routing routing = ragged(30, 2);
    for (std::size_t i = 0; i < routing.ids.size(); i += 7)
      routing.ids[i] = i % 2 == 0 ? (i % 4 == 0 ? -1 : INT_MIN) : (i % 3 == 0 ? INT_MAX : int{kExperts});
    const Floats x = rows_for(stack, routing, 14);
    const Floats wanted = expected(stack, x, routing);
    EXPECT_TRUE(same_bits(by_expert(our_backend(2).get(), {&stack}, x, routing)[0], wanted)) << ggml_type_name(type);
    std::fill(routing.ids.begin(), routing.ids.end(), int{kExperts});
    const Floats zeros = by_expert(our_backend(2).get(), {&stack}, x, routing)[0];
    EXPECT_TRUE(same_bits(zeros, Floats(zeros.size(), 0.0F)));
  }
}

TEST_F(DeviceTest, ByExpertABackendComputesGraphAfterGraphOfOtherSizes) {
  const Stack stack(GGML_TYPE_Q4_0, 256, 64, kExperts, 15);
  ASSERT_TRUE(pack_weights(2, {}).complete);
  const Owned<ggml_backend> backend = our_backend(2);
  const Routing all = ragged(200, 1);
  const Floats x = rows_for(stack, all, 16);
  const Floats whole = by_expert(backend.get(), {&stack}, x, all)[0];
  for (const std::int64_t tokens : {1, 199, 64, 5}) {
    Routing some = all;
    some.tokens = tokens;
    some.ids.resize(static_cast<std::size_t>(tokens * 2));
    EXPECT_TRUE(same_bits(by_expert(backend.get(), {&stack}, x, some)[0],
                          Floats(whole.begin(), whole.begin() + tokens * 2 * 64)))
        << tokens;
  }
}

TEST_F(DeviceTest, OfExpertsEachOnesPanelsAreCounted) {
  const PackTotals before = unpacked_totals();
  const Stack stack(GGML_TYPE_Q4_0, 256, 100, kExperts, 17);
  const PackTotals after = unpacked_totals();
  EXPECT_EQ(after.tensors - before.tensors, 1U);
  EXPECT_EQ(after.expert_tensors - before.expert_tensors, 1U);
  EXPECT_EQ(after.plain_bytes - before.plain_bytes, kExperts * 100U * ggml_row_size(GGML_TYPE_Q4_0, 256));
  // 100 columns are seven panels of 16.
  EXPECT_EQ(after.packed_bytes - before.packed_bytes, std::uint64_t{kExperts} * 112 * (256 + 8 * 4));
}

TEST_F(DeviceTest, ExpertsFromTheCacheGiveTheSameBits) {
  const PackFolder folder;
  const PackCachePlace place{.dir = folder.text(), .model = "the file's hash"};
  const Routing routing = ragged(9, 1);
  Floats packed;
  for (const PackCacheUse use : {PackCacheUse::kWritten, PackCacheUse::kRead}) {
    const Stack stack(GGML_TYPE_Q4_1, 512, 100, kExperts, 18);
    EXPECT_EQ(pack_weights(2, {}, place).cache, use);
    const Floats out = by_expert(our_backend(2).get(), {&stack}, rows_for(stack, routing, 19), routing)[0];
    if (packed.empty()) packed = out;
    EXPECT_TRUE(same_bits(out, packed));
  }
  // The same bytes, cut into experts otherwise.
  const auto use = [&place](std::int64_t columns, std::int64_t experts) {
    const Stack stack(GGML_TYPE_Q4_0, 64, columns, experts, 20);
    return pack_weights(2, {}, place).cache;
  };
  EXPECT_EQ(use(32, 4), PackCacheUse::kWritten);
  EXPECT_EQ(use(64, 2), PackCacheUse::kWritten);
  EXPECT_EQ(use(128, 1), PackCacheUse::kWritten);
  EXPECT_EQ(use(32, 4), PackCacheUse::kRead);
  EXPECT_EQ(folder.files(), 4);
}

TEST_F(DeviceTest, ExpertsAreOfferedAPlaceOnlyWhereAllIsPacked) {
  ggml_backend_dev_t device = ggml_backend_dev_by_name("Assay");
  const Owned<ggml_context> context = new_context();
  ggml_tensor* const stack = ggml_new_tensor_3d(context.get(), GGML_TYPE_Q4_0, 64, 32, kExperts);
  ggml_tensor* const odd = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, 48, 32, kExperts);
  ggml_tensor* const matrix = ggml_new_tensor_2d(context.get(), GGML_TYPE_Q4_0, 64, 32);
  ggml_tensor* const rows = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, 64, 1, 7);
  ggml_tensor* const ids = ggml_new_tensor_2d(context.get(), GGML_TYPE_I32, 2, 7);
  ggml_tensor* const by_expert = ggml_mul_mat_id(context.get(), stack, rows, ids);
  ggml_tensor* const other =
      ggml_mul_mat_id(context.get(), odd, ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, 48, 1, 7), ids);
  ggml_tensor* const plain = ggml_mul_mat(context.get(), matrix, rows);
  // Plane by plane, as some attention multiplies: nobody asked for experts there.
  ggml_tensor* const planes =
      ggml_mul_mat(context.get(), stack, ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, 64, 7, kExperts));
  for (const PackMode mode : {PackMode::kOn, PackMode::kDense, PackMode::kPanel, PackMode::kOff}) {
    use_kernels(mode);
    EXPECT_EQ(ggml_backend_dev_supports_op(device, by_expert), mode == PackMode::kOn);
    EXPECT_EQ(ggml_backend_dev_supports_op(device, plain), mode != PackMode::kOff);
    EXPECT_FALSE(ggml_backend_dev_supports_op(device, other));
    EXPECT_FALSE(ggml_backend_dev_supports_op(device, planes));
  }
}

}  // namespace
}  // namespace assay::kernels
