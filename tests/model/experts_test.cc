// A tiny mixture of experts with its experts' products on kernels of our own.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/bit_check.h"
#include "engine/llama_runtime.h"
#include "engine/testing/tiny_engine.h"
#include "kernels/ggml_device.h"
#include "kernels/testing/relative_difference.h"

namespace assay::engine {
namespace {

constexpr const char* kModel = "tiny-experts.gguf";
constexpr std::int32_t kRows = 90;

class Experts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kernels::device_is_worth_it()) GTEST_SKIP() << "this CPU has no unit that is worth it";
  }
  void TearDown() override { kernels::use_kernels(kernels::PackMode::kOff); }

  static std::unique_ptr<LlamaModel> load(Packing packing) { return testing::load_model(kModel, {.packing = packing}); }

  // The logits after every other six of `count` tokens, `together` of them in one decode.
  static std::vector<float> logits(const LlamaModel& model, std::int32_t count, std::int32_t together) {
    Result<std::unique_ptr<Decoder>> decoder = model.make_decoder();
    EXPECT_TRUE(decoder.ok());
    std::vector<float> all;
    for (std::int32_t begin = 0; begin < count; begin += together) {
      std::vector<BatchRow> rows;
      for (std::int32_t i = begin; i < std::min(begin + together, count); i++) {
        const TokenId token = (i * 7919 + 13) % 40000;
        rows.push_back({.token = token, .position = i, .cell = i, .sequences = {0}, .output = i % 12 >= 6});
      }
      EXPECT_TRUE((*decoder)->decode(rows, {}).ok());
      for (std::size_t i = 0; i < rows.size(); i++) {
        if (!rows[i].output) continue;
        const std::span<const float> read = (*decoder)->logits(i);
        all.insert(all.end(), read.begin(), read.end());
      }
    }
    return all;
  }
};

TEST_F(Experts, ArePackedWithTheRest) {
  const auto model = load(Packing::kOn);
  EXPECT_EQ(model->packing().experts, "packed");
  // All that can be packed is: the embeddings too, which are the head as well.
  const Result<ModelFacts> facts = inspect_gguf(model->options().path);
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->packs_experts);
  EXPECT_EQ(model->packing().bytes, facts->packed_bytes);
  // Words and a scale for 32 of them: three matrices of 64 by 128 for each of four experts in four layers, at least.
  EXPECT_GT(model->packing().bytes, 4U * 4 * 3 * 64 * 128 * 2);
  EXPECT_EQ(load(Packing::kPanel)->packing().experts, "");
  const Result<ModelFacts> dense = inspect_gguf(std::string(ASSAY_TINY_DIR) + "/tiny-attention.gguf");
  ASSERT_TRUE(dense.ok());
  EXPECT_FALSE(dense->packs_experts);
}

TEST_F(Experts, AreCloseToThoseOfLlamaCpp) {
  const std::vector<float> theirs = logits(*load(Packing::kOff), kRows, kRows);
  const std::vector<float> ours = logits(*load(Packing::kOn), kRows, kRows);
  EXPECT_LT(kernels::testing::relative_difference(ours, theirs), 0.01);
  EXPECT_NE(ours, theirs);
}

// Routing gives experts other numbers of rows in each of these. None reads a row alone: the product that chooses among
// four experts has too few columns to be ours, and ggml's has other bits for one row.
TEST_F(Experts, RowsHaveTheSameBitsInDecodesOfAnySize) {
  const auto model = load(Packing::kOn);
  const std::vector<float> together = logits(*model, kRows, kRows);
  for (const std::int32_t rows : {2, 3, 16, 45}) EXPECT_EQ(logits(*model, kRows, rows), together) << rows;
}

TEST_F(Experts, NeedNoRuleAboutRowsThatAreNotRead) {
  const auto model = load(Packing::kOn);
  Result<std::unique_ptr<Decoder>> decoder = model->make_decoder();
  ASSERT_TRUE(decoder.ok());
  const Result<BitCheck> check = check_bits(**decoder);
  ASSERT_TRUE(check.ok());
  EXPECT_TRUE(check->same) << check->note;
  EXPECT_EQ(check->rules.rows_multiple, 1);
  EXPECT_EQ(check->rules.rows_min, 2);
}

TEST_F(Experts, StayWithLlamaCppWhereTheMemoryForAllIsNotFree) {
  start_llama();
  const std::uint64_t free_bytes = machine_memory().free_bytes;
  const auto mode = [](Packing packing, const PackingNeeds& needs) {
    prepare_packing({.packing = packing}, needs);
    return kernels::kernels_mode();
  };
  const PackingNeeds small{.model_bytes = 1000, .packed_bytes = 2000, .experts = true};
  const PackingNeeds large{.model_bytes = 1000, .packed_bytes = free_bytes * 2, .experts = true};
  const PackingNeeds dense{.model_bytes = 1000, .packed_bytes = free_bytes * 2, .experts = false};
  using kernels::PackMode;
  EXPECT_EQ(mode(Packing::kOn, large), PackMode::kOn);
  EXPECT_EQ(mode(Packing::kPanel, small), PackMode::kPanel);
  if (!kernels::device_is_tried()) GTEST_SKIP() << "auto leaves all with llama.cpp here";
  EXPECT_EQ(mode(Packing::kAuto, small), PackMode::kOn);
  EXPECT_EQ(mode(Packing::kAuto, large), PackMode::kDense);
  EXPECT_EQ(mode(Packing::kAuto, dense), PackMode::kOn);  // settled when the weights are there
}

}  // namespace
}  // namespace assay::engine
