// The default model with kernels of our own: close to llama.cpp's, the same bits packed once or in each product, and no
// rule about the number of rows needed for that.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/bit_check.h"
#include "engine/llama_model.h"
#include "kernels/testing/relative_difference.h"

namespace assay::engine {
namespace {

constexpr std::int32_t kRows = 100;

class Kernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(ASSAY_DEFAULT_MODEL)) GTEST_SKIP() << "no default model";
  }

  static std::unique_ptr<LlamaModel> load(Packing packing, const std::string& pack_cache = "") {
    const ModelOptions options{
        .path = ASSAY_DEFAULT_MODEL, .context_tokens = 1024, .packing = packing, .pack_cache_dir = pack_cache};
    Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load(options);
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
    return model.ok() ? std::move(model).value() : nullptr;
  }

  // The logits after kRows tokens.
  static std::vector<float> logits(const LlamaModel& model) {
    Result<std::unique_ptr<Decoder>> decoder = model.make_decoder();
    EXPECT_TRUE(decoder.ok());
    std::vector<BatchRow> rows;
    for (std::int32_t i = 0; i < kRows; i++)
      rows.push_back({.token = (i * 7919 + 13) % 40000, .position = i, .cell = i, .sequences = {0}});
    rows.back().output = true;
    rows[0].output = true;  // a product of one row is ggml's when weights are packed in each product
    EXPECT_TRUE((*decoder)->decode(rows, {}).ok());
    const std::span<const float> read = (*decoder)->logits(kRows - 1);
    return {read.begin(), read.end()};
  }
};

TEST_F(Kernels, AreCloseToThoseOfLlamaCpp) {
  const std::vector<float> theirs = logits(*load(Packing::kOff));
  const auto model = load(Packing::kOn);
  if (model->packing().mode == Packing::kOff) GTEST_SKIP() << "this CPU has no unit that is worth it";
  EXPECT_EQ(model->packing().mode, Packing::kOn);
  EXPECT_GT(model->packing().bytes, 100U << 20);
  const std::vector<float> ours = logits(*model);
  EXPECT_LT(kernels::testing::relative_difference(ours, theirs), 0.1);
  EXPECT_NE(ours, theirs) << "was it ours that computed?";
}

TEST_F(Kernels, GiveTheSameBitsPackedOnceOrInEachProduct) {
  const std::vector<float> on = logits(*load(Packing::kOn));
  EXPECT_EQ(logits(*load(Packing::kPanel)), on);
  EXPECT_EQ(logits(*load(Packing::kOn)), on);  // and loaded once more
}

TEST_F(Kernels, NeedNoRuleAboutRows) {
  const auto model = load(Packing::kOn);
  if (model->packing().mode == Packing::kOff) GTEST_SKIP() << "this CPU has no unit that is worth it";
  Result<std::unique_ptr<Decoder>> decoder = model->make_decoder();
  ASSERT_TRUE(decoder.ok());
  const Result<BitCheck> check = check_bits(**decoder);
  ASSERT_TRUE(check.ok());
  EXPECT_TRUE(check->same) << check->note;
  EXPECT_EQ(check->rules.rows_multiple, 1);
  EXPECT_EQ(check->rules.outputs_min, 1);
  EXPECT_EQ(check->rules.rows_min, 2);
}

// Two models at once: both map the one file.
TEST_F(Kernels, FromThePackCacheHaveTheSameBits) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("assay-packs-" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  const std::vector<float> packed = logits(*load(Packing::kOn));
  {
    const auto first = load(Packing::kOn, folder.string());
    if (first->packing().mode == Packing::kOff) GTEST_SKIP() << "this CPU has no unit that is worth it";
    const auto second = load(Packing::kOn, folder.string());
    EXPECT_EQ(first->packing().cache, "written");
    EXPECT_EQ(second->packing().cache, "read");
    EXPECT_EQ(second->packing().cache_path, first->packing().cache_path);
    EXPECT_EQ(logits(*first), packed);
    EXPECT_EQ(logits(*second), packed);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay::engine
