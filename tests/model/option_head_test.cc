// Logits of options alone, on real models: what the whole head says, the same bits whatever else is asked for.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "engine/llama_option_head.h"
#include "engine/testing/tiny_engine.h"

namespace assay::engine {
namespace {

using testing::kTargets;
using testing::load;
using testing::load_model;
using testing::path_job;
using testing::tokens_from;

Job options_job(int seed, int rows) {
  Job job = path_job(tokens_from(seed, rows));
  job.reads[0].vocabulary = false;
  return job;
}

void expect_like_the_whole_head(Scheduler& scheduler, double rounding) {
  for (const int rows : {30, 70, 200}) {
    const Result<JobResult> few = scheduler.run(options_job(3, rows));
    const Result<JobResult> all = scheduler.run(path_job(tokens_from(3, rows)));
    ASSERT_TRUE(few.ok() && all.ok());
    EXPECT_FALSE(few->reads[0].vocabulary);
    EXPECT_TRUE(all->reads[0].vocabulary);
    ASSERT_EQ(few->reads[0].logits.size(), kTargets.size());
    for (std::size_t i = 0; i < kTargets.size(); i++)
      EXPECT_NEAR(few->reads[0].logits[i], all->reads[0].logits[i], rounding) << rows << " rows";
  }
}

// The whole head is a product of 16-bit integers with kernels of our own, single logits are sums of floats; with ggml's
// both are floats.
struct HeadCase {
  Packing packing;
  double rounding;
};
constexpr HeadCase kHeadCases[] = {{Packing::kOff, 1e-4}, {Packing::kOn, 3e-3}};

ModelOptions packed(Packing packing) {
  ModelOptions options;
  options.packing = packing;
  return options;
}

TEST(OptionHead, SaysWhatTheWholeHeadSaysOnTinyModels) {
  for (const char* name : {"tiny-attention.gguf", "tiny-hybrid.gguf", "tiny-window.gguf", "tiny-experts.gguf"}) {
    for (const HeadCase& head : kHeadCases) {
      const auto loaded = load(name, packed(head.packing), {}, {}, true);
      ASSERT_NE(loaded, nullptr);
      expect_like_the_whole_head(*loaded->scheduler, head.rounding);
    }
  }
}

TEST(OptionHead, BitsDoNotDependOnWhatElseIsAskedFor) {
  const auto loaded = load("tiny-attention.gguf", {}, {}, {}, true);
  ASSERT_NE(loaded, nullptr);
  Scheduler& scheduler = *loaded->scheduler;
  const Result<JobResult> alone = scheduler.run(options_job(3, 100));
  const Result<JobResult> whole_alone = scheduler.run(path_job(tokens_from(4, 90)));
  ASSERT_TRUE(alone.ok() && whole_alone.ok());
  for (int i = 0; i < 5; i++) {
    Result<std::future<Result<JobResult>>> options = scheduler.submit(options_job(3, 100));
    Result<std::future<Result<JobResult>>> whole = scheduler.submit(path_job(tokens_from(4, 90)));
    ASSERT_TRUE(options.ok() && whole.ok());
    EXPECT_EQ(options->get()->reads[0].logits, alone->reads[0].logits);
    const Result<JobResult> beside = whole->get();
    EXPECT_EQ(beside->reads[0].logits, whole_alone->reads[0].logits);
    EXPECT_EQ(beside->reads[0].log_sum_exp, whole_alone->reads[0].log_sum_exp);
  }
}

TEST(OptionHead, IsTriedOnTheModelItself) {
  for (const char* name : {"tiny-attention.gguf", "tiny-hybrid.gguf", "tiny-window.gguf", "tiny-experts.gguf"}) {
    for (const HeadCase& head : kHeadCases) {
      const auto model = load_model(name, packed(head.packing));
      ASSERT_NE(model, nullptr);
      Result<std::unique_ptr<Decoder>> decoder = model->make_decoder({}, true);
      ASSERT_TRUE(decoder.ok());
      const Result<double> difference = option_head_difference(**decoder);
      ASSERT_TRUE(difference.ok());
      EXPECT_GE(*difference, 0) << name;
      EXPECT_LE(*difference, head.rounding) << name;
    }
  }
}

// Rounding of a quantised head's inputs: a quarter at most, and the check's own limit says so.
TEST(OptionHead, StaysWithinTheStatedToleranceOnTheDefaultModel) {
  if (!std::filesystem::exists(ASSAY_DEFAULT_MODEL)) GTEST_SKIP() << "no default model: run tools/setup";
  ModelOptions options;
  options.path = ASSAY_DEFAULT_MODEL;
  options.context_tokens = 1024;
  Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load(options);
  ASSERT_TRUE(model.ok());
  Result<std::unique_ptr<Decoder>> decoder = (*model)->make_decoder({}, true);
  ASSERT_TRUE(decoder.ok());
  const Result<double> difference = option_head_difference(**decoder);
  ASSERT_TRUE(difference.ok());
  RecordProperty("difference", std::to_string(*difference));
  EXPECT_GE(*difference, 0);
  EXPECT_LE(*difference, kOptionHeadDifferenceMax);
}

TEST(OptionHead, AFileThatHasNoneIsNoHead) {
  EXPECT_EQ(OptionHead::open("/no/such/file", 64, 100), nullptr);
  EXPECT_EQ(OptionHead::open(std::string(ASSAY_TINY_DIR) + "/tiny-attention.gguf", 63, 100), nullptr);
}

}  // namespace
}  // namespace assay::engine
