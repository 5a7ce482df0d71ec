// The real decoder on tiny random models of both kinds: a job's numbers against the same tokens computed alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/testing/tiny_engine.h"

namespace assay::engine {
namespace {

using testing::alone;
using testing::kTargets;
using testing::load;
using testing::path_job;
using testing::PathsJob;
using testing::tokens_from;

// A shared state, two questions, three options each, of different lengths: nested branches.
PathsJob two_questions() {
  PathsJob made;
  const std::int32_t state = made.add(Segment::kRoot, tokens_from(1, 70), Keep::kAlways);
  for (int question = 0; question < 2; question++) {
    const std::int32_t words = made.add(state, tokens_from(10 + question, 9 + question));
    for (int option = 0; option < 3; option++)
      made.read_end(made.add(words, tokens_from(20 + option, 1 + option)), true);
    made.read_end(words, true);
  }
  return made;
}

struct Kind {
  const char* model;
  bool flash_attention;
  // Sums in another order when branches stand side by side. Flash attention over fewer than 64 rows, as recurrent
  // models have it, sums in half precision. A last digit may become a step of a row's 16-bit integers
  // (docs/kernels.md).
  double rounding;
  Packing packing = Packing::kOn;
};

class BothKinds : public ::testing::TestWithParam<Kind> {
 protected:
  static std::unique_ptr<testing::Loaded> open(ModelOptions options = {}) {
    options.flash_attention = GetParam().flash_attention;
    options.packing = GetParam().packing;
    return load(GetParam().model, std::move(options));
  }

  static void expect_near(const ReadResult& a, const ReadResult& b, const std::string& what) {
    const double rounding = GetParam().rounding;
    EXPECT_NEAR(a.log_sum_exp, b.log_sum_exp, rounding) << what;
    ASSERT_EQ(a.logits.size(), b.logits.size()) << what;
    for (std::size_t i = 0; i < a.logits.size(); i++) EXPECT_NEAR(a.logits[i], b.logits[i], rounding) << what;
    ASSERT_EQ(a.hidden.size(), b.hidden.size()) << what;
    for (std::size_t i = 0; i < a.hidden.size(); i++) EXPECT_NEAR(a.hidden[i], b.hidden[i], rounding) << what;
  }
};

TEST_P(BothKinds, ABranchingJobEqualsEachPathAlone) {
  const auto loaded = open();
  ASSERT_NE(loaded, nullptr);
  const PathsJob made = two_questions();
  const Result<JobResult> result = loaded->scheduler->run(made.job);
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (std::size_t i = 0; i < made.paths.size(); i++) {
    const ReadResult expected = alone(*loaded->scheduler, made.paths[i], true);
    ASSERT_EQ(expected.hidden.size(), 64u);
    expect_near(result->reads[i], expected, "path " + std::to_string(i));
    // A wrong ancestor would show: another state moves the numbers far more than rounding.
    Tokens other = made.paths[i];
    other[3]++;
    const ReadResult moved = alone(*loaded->scheduler, other);
    double largest = 0;
    for (std::size_t t = 0; t < kTargets.size(); t++)
      largest = std::max(largest, std::fabs(static_cast<double>(moved.logits[t] - expected.logits[t])));
    EXPECT_GT(largest, 2 * GetParam().rounding);
  }
}

TEST_P(BothKinds, APromptInSmallBatchesEqualsOneBatch) {
  const auto chunked = open({.batch_tokens = 64});
  const auto whole = open({.batch_tokens = 512});
  ASSERT_NE(chunked, nullptr);
  ASSERT_NE(whole, nullptr);
  const Tokens path = tokens_from(5, 300);
  expect_near(alone(*chunked->scheduler, path), alone(*whole->scheduler, path), "300 tokens");
}

TEST_P(BothKinds, MoreLeavesThanSequencesAreAllRight) {
  const auto loaded = open({.sequences_max = 8});
  ASSERT_NE(loaded, nullptr);
  PathsJob made;
  const std::int32_t prompt = made.add(Segment::kRoot, tokens_from(7, 20));
  for (int option = 0; option < 11; option++) made.read_end(made.add(prompt, tokens_from(40 + option, 2)));
  const Result<JobResult> result = loaded->scheduler->run(made.job);
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (std::size_t i = 0; i < made.paths.size(); i++)
    expect_near(result->reads[i], alone(*loaded->scheduler, made.paths[i]), "leaf " + std::to_string(i));
}

TEST_P(BothKinds, APromptOverTheLimitIsRefusedWithBothNumbers) {
  const auto loaded = open({.context_tokens = 256});
  ASSERT_NE(loaded, nullptr);
  const Result<JobResult> result = loaded->scheduler->run(path_job(tokens_from(1, 257)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kTooLong);
  EXPECT_NE(result.error().message.find("257"), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().message.find("256"), std::string::npos) << result.error().message;
  // The longest one that is allowed.
  EXPECT_TRUE(loaded->scheduler->run(path_job(tokens_from(1, 256))).ok());
}

TEST_P(BothKinds, TokensOutsideTheVocabularyAreRefused) {
  const auto loaded = open();
  ASSERT_NE(loaded, nullptr);
  const TokenId end = loaded->scheduler->limits().vocabulary_tokens;
  for (const TokenId bad : {-1, end}) {
    EXPECT_EQ(loaded->scheduler->run(path_job({5, bad, 6})).error().code, ErrorCode::kInvalidArgument);
    Job job = path_job({5, 6});
    job.reads[0].targets = {bad};
    EXPECT_EQ(loaded->scheduler->run(std::move(job)).error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(loaded->scheduler->run(path_job({5, end - 1, 6})).ok());
}

INSTANTIATE_TEST_SUITE_P(Tiny, BothKinds,
                         ::testing::Values(Kind{"tiny-attention.gguf", true, 1e-3},
                                           Kind{"tiny-hybrid.gguf", true, 1e-2}, Kind{"tiny-window.gguf", true, 2e-3},
                                           Kind{"tiny-experts.gguf", true, 2e-3},
                                           Kind{"tiny-attention.gguf", false, 2e-3},
                                           Kind{"tiny-hybrid.gguf", false, 2e-3}, Kind{"tiny-window.gguf", false, 2e-3},
                                           Kind{"tiny-experts.gguf", false, 2e-3}));

// Sums of floats in ggml's kernels. The one with windows has larger numbers on their way, and so larger roundings.
INSTANTIATE_TEST_SUITE_P(TinyUnpacked, BothKinds,
                         ::testing::Values(Kind{"tiny-attention.gguf", true, 1e-3, Packing::kOff},
                                           Kind{"tiny-attention.gguf", false, 1e-4, Packing::kOff},
                                           Kind{"tiny-hybrid.gguf", true, 1e-2, Packing::kOff},
                                           Kind{"tiny-hybrid.gguf", false, 1e-4, Packing::kOff},
                                           Kind{"tiny-window.gguf", true, 1e-3, Packing::kOff},
                                           Kind{"tiny-window.gguf", false, 1e-3, Packing::kOff},
                                           Kind{"tiny-experts.gguf", true, 1e-3, Packing::kOff},
                                           Kind{"tiny-experts.gguf", false, 1e-4, Packing::kOff}));

TEST(Decoder, BrokenWeightsGiveAnErrorNotANumber) {
  const auto loaded = load("tiny-nan.gguf");
  ASSERT_NE(loaded, nullptr);
  for (int time = 0; time < 2; time++) {
    const Result<JobResult> result = loaded->scheduler->run(path_job(tokens_from(1, 20)));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kNonfiniteLogits);
  }
  EXPECT_TRUE(loaded->scheduler->healthy());
}

}  // namespace
}  // namespace assay::engine
