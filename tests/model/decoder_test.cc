// The real decoder on tiny random models of both kinds: a job's numbers against the same tokens decoded alone.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/clock.h"
#include "engine/llama_model.h"
#include "engine/scheduler.h"

namespace assay::engine {
namespace {

struct Loaded {
  std::unique_ptr<LlamaModel> model;
  SteadyClock clock;
  std::unique_ptr<Scheduler> scheduler;
};

std::unique_ptr<Loaded> load(const std::string& name, ModelOptions options = {}) {
  auto loaded = std::make_unique<Loaded>();
  options.path = std::string(ASSAY_TINY_DIR) + "/" + name;
  Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load(options);
  EXPECT_TRUE(model.ok()) << model.error().message;
  if (!model.ok()) return nullptr;
  loaded->model = std::move(model).value();
  Result<std::unique_ptr<Decoder>> decoder = loaded->model->make_decoder();
  EXPECT_TRUE(decoder.ok()) << decoder.error().message;
  if (!decoder.ok()) return nullptr;
  loaded->scheduler = std::make_unique<Scheduler>(std::move(decoder).value(), loaded->clock, SchedulerOptions{});
  return loaded;
}

Tokens tokens_from(int seed, int count) {
  Tokens tokens;
  for (int i = 0; i < count; i++) tokens.push_back(static_cast<TokenId>((seed * 7919 + i * 104729) % 40000 + 100));
  return tokens;
}

const std::vector<TokenId> kTargets = {5, 777, 12345};

ReadResult alone(Scheduler& scheduler, const Tokens& path, bool hidden_state = false) {
  Job job;
  job.reads = {{.row = job.tree.add_path(path), .targets = kTargets, .hidden_state = hidden_state}};
  Result<JobResult> result = scheduler.run(std::move(job));
  EXPECT_TRUE(result.ok());
  return result.ok() ? result->reads[0] : ReadResult{};
}

// Attention sums in another order when branches stand side by side, so equality is up to rounding.
constexpr double kRounding = 2e-3;

void expect_near(const ReadResult& a, const ReadResult& b, const std::string& what) {
  EXPECT_NEAR(a.log_sum_exp, b.log_sum_exp, kRounding) << what;
  ASSERT_EQ(a.logits.size(), b.logits.size());
  for (std::size_t i = 0; i < a.logits.size(); i++) EXPECT_NEAR(a.logits[i], b.logits[i], kRounding) << what;
}

class BothKinds : public ::testing::TestWithParam<const char*> {};

TEST_P(BothKinds, ABranchingJobEqualsEachPathAlone) {
  const auto loaded = load(GetParam());
  ASSERT_NE(loaded, nullptr);
  // A shared state, two questions, three options each, of different lengths: nested branches.
  const Tokens state = tokens_from(1, 70);
  Job job;
  std::vector<Tokens> paths;
  const std::int32_t state_row = job.tree.add_path(state);
  for (int question = 0; question < 2; question++) {
    const Tokens words = tokens_from(10 + question, 9 + question);
    const std::int32_t question_row = job.tree.add_path(words, state_row);
    for (int option = 0; option < 3; option++) {
      const std::int32_t row = job.tree.add_path(tokens_from(20 + option, 1 + option), question_row);
      job.reads.push_back({.row = row, .targets = kTargets});
      paths.push_back(job.tree.path(row));
    }
    job.reads.push_back({.row = question_row, .targets = kTargets});
    paths.push_back(job.tree.path(question_row));
  }
  const Result<JobResult> result = loaded->scheduler->run(std::move(job));
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (std::size_t i = 0; i < paths.size(); i++) {
    const ReadResult expected = alone(*loaded->scheduler, paths[i]);
    expect_near(result->reads[i], expected, "path " + std::to_string(i));
    // A wrong ancestor would show: another state moves the numbers far more than rounding.
    Tokens other = paths[i];
    other[3]++;
    const ReadResult moved = alone(*loaded->scheduler, other);
    double largest = 0;
    for (std::size_t t = 0; t < kTargets.size(); t++)
      largest = std::max(largest, std::fabs(static_cast<double>(moved.logits[t] - expected.logits[t])));
    EXPECT_GT(largest, 2 * kRounding);
  }
}

TEST_P(BothKinds, TheSameJobTwiceGivesTheSameBits) {
  const auto loaded = load(GetParam());
  ASSERT_NE(loaded, nullptr);
  const ReadResult first = alone(*loaded->scheduler, tokens_from(3, 150));
  alone(*loaded->scheduler, tokens_from(4, 33));  // something else in between
  const ReadResult second = alone(*loaded->scheduler, tokens_from(3, 150));
  EXPECT_EQ(first.logits, second.logits);
  EXPECT_EQ(first.log_sum_exp, second.log_sum_exp);
}

TEST_P(BothKinds, AChunkedPromptEqualsOneBatch) {
  const auto chunked = load(GetParam(), {.batch_tokens = 32});
  const auto whole = load(GetParam(), {.batch_tokens = 512});
  ASSERT_NE(chunked, nullptr);
  ASSERT_NE(whole, nullptr);
  const Tokens path = tokens_from(5, 300);
  expect_near(alone(*chunked->scheduler, path), alone(*whole->scheduler, path), "300 tokens");
}

TEST_P(BothKinds, TheHiddenStateBelongsToItsRow) {
  const auto loaded = load(GetParam());
  ASSERT_NE(loaded, nullptr);
  const Tokens prompt = tokens_from(6, 40);
  Job job;
  const std::int32_t prompt_row = job.tree.add_path(prompt);
  std::vector<Tokens> paths;
  for (int option = 0; option < 3; option++) {
    const std::int32_t row = job.tree.add_path(tokens_from(30 + option, 2), prompt_row);
    job.reads.push_back({.row = row, .targets = {}, .hidden_state = true});
    paths.push_back(job.tree.path(row));
  }
  job.reads.push_back({.row = prompt_row, .targets = {}, .hidden_state = true});
  paths.push_back(prompt);
  const Result<JobResult> result = loaded->scheduler->run(std::move(job));
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (std::size_t i = 0; i < paths.size(); i++) {
    const ReadResult expected = alone(*loaded->scheduler, paths[i], true);
    ASSERT_EQ(result->reads[i].hidden.size(), 64u);
    ASSERT_EQ(expected.hidden.size(), 64u);
    for (std::size_t n = 0; n < 64; n++)
      EXPECT_NEAR(result->reads[i].hidden[n], expected.hidden[n], kRounding) << "path " << i;
  }
}

TEST_P(BothKinds, MoreLeavesThanSequencesAreAllRight) {
  const auto loaded = load(GetParam(), {.sequences_max = 4});
  ASSERT_NE(loaded, nullptr);
  Job job;
  const std::int32_t prompt_row = job.tree.add_path(tokens_from(7, 20));
  std::vector<Tokens> paths;
  for (int option = 0; option < 11; option++) {
    const std::int32_t row = job.tree.add_path(tokens_from(40 + option, 2), prompt_row);
    job.reads.push_back({.row = row, .targets = kTargets});
    paths.push_back(job.tree.path(row));
  }
  const Result<JobResult> result = loaded->scheduler->run(std::move(job));
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (std::size_t i = 0; i < paths.size(); i++)
    expect_near(result->reads[i], alone(*loaded->scheduler, paths[i]), "leaf " + std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(Tiny, BothKinds, ::testing::Values("tiny-attention.gguf", "tiny-hybrid.gguf"));

TEST(Decoder, APromptOverTheLimitIsRefusedWithBothNumbers) {
  const auto loaded = load("tiny-attention.gguf", {.context_tokens = 256});
  ASSERT_NE(loaded, nullptr);
  Job job;
  job.reads = {{.row = job.tree.add_path(tokens_from(1, 257)), .targets = kTargets}};
  const Result<JobResult> result = loaded->scheduler->run(std::move(job));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kTooLong);
  EXPECT_NE(result.error().message.find("257"), std::string::npos);
  EXPECT_NE(result.error().message.find("256"), std::string::npos);
}

TEST(Decoder, BrokenWeightsGiveAnErrorNotANumber) {
  const auto loaded = load("tiny-nan.gguf");
  ASSERT_NE(loaded, nullptr);
  Job job;
  job.reads = {{.row = job.tree.add_path(tokens_from(1, 20)), .targets = kTargets}};
  const Result<JobResult> result = loaded->scheduler->run(std::move(job));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kNonfiniteLogits);
}

}  // namespace
}  // namespace assay::engine
