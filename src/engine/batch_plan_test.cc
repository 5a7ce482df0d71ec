#include "engine/batch_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/testing/fake_decoder.h"

namespace assay::engine {
namespace {

DecoderLimits small_limits() {
  return {.batch_rows_max = 8,
          .output_rows_max = 4,
          .sequences_max = 4,
          .cells_max = 32,
          .vocabulary_tokens = 50,
          .hidden_size = 3};
}

// A trunk of three rows, then two options of two rows each.
Job two_options() {
  Job job;
  const std::int32_t prompt = job.tree.add_path(Tokens{1, 2, 3});
  job.reads = {{.row = prompt, .targets = {4, 6}},
               {.row = job.tree.add_path(Tokens{4}, prompt), .targets = {5}},
               {.row = job.tree.add_path(Tokens{6}, prompt), .targets = {7}}};
  return job;
}

TEST(PlanJob, DecodesTheTrunkOnceThenForksItForEachLeaf) {
  const Result<Plan> plan = plan_job(two_options(), small_limits());
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->steps.size(), 2u);
  EXPECT_EQ(plan->steps[0].rows.size(), 3u);
  EXPECT_EQ(plan->steps[0].rows[2].sequences, (std::vector<SequenceId>{0}));
  EXPECT_TRUE(plan->steps[0].rows[2].output);
  EXPECT_FALSE(plan->steps[0].rows[1].output);
  EXPECT_EQ(plan->steps[1].forks.size(), 2u);
  EXPECT_EQ(plan->steps[1].rows.size(), 2u);
  EXPECT_EQ(plan->steps[1].rows[1].sequences, (std::vector<SequenceId>{2}));
  EXPECT_EQ(plan->steps[1].releases, (std::vector<SequenceId>{1, 2, 0}));
  EXPECT_EQ(plan->computed_rows, 5);
  EXPECT_EQ(plan->cells_max, 5);
}

TEST(PlanJob, CutsALongTrunkIntoChunks) {
  Job job;
  Tokens tokens(20, 9);
  job.reads = {{.row = job.tree.add_path(tokens), .targets = {1}}};
  const Result<Plan> plan = plan_job(job, small_limits());
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->steps.size(), 3u);
  EXPECT_EQ(plan->steps[0].rows.size(), 8u);
  EXPECT_EQ(plan->steps[2].rows.size(), 4u);
  EXPECT_EQ(plan->steps[2].reads.size(), 1u);
}

TEST(PlanJob, NeedsWavesWhenThereAreMoreLeavesThanSequences) {
  Job job;
  const std::int32_t prompt = job.tree.add_path(Tokens{1});
  for (TokenId token = 10; token < 20; token++)
    job.reads.push_back({.row = job.tree.add_path(Tokens{token}, prompt), .targets = {0}});
  const Result<Plan> plan = plan_job(job, small_limits());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->steps.size(), 1u + 4u);  // ten leaves, three sequences beside the trunk's
}

TEST(PlanJob, RefusesAPromptLongerThanTheCellsWithBothNumbers) {
  Job job;
  job.reads = {{.row = job.tree.add_path(Tokens(33, 1)), .targets = {1}}};
  const Result<Plan> plan = plan_job(job, small_limits());
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kTooLong);
  EXPECT_NE(plan.error().message.find("33"), std::string::npos);
  EXPECT_NE(plan.error().message.find("32"), std::string::npos);
}

TEST(PlanJob, RefusesWhatADecoderWouldAbortOn) {
  EXPECT_FALSE(plan_job(Job{}, small_limits()).ok());
  Job job = two_options();
  job.reads[0].targets = {50};
  EXPECT_FALSE(plan_job(job, small_limits()).ok());
  job = two_options();
  job.reads[0].row = 99;
  EXPECT_FALSE(plan_job(job, small_limits()).ok());
  job = two_options();
  job.reads.push_back(job.reads[0]);
  EXPECT_FALSE(plan_job(job, small_limits()).ok());
  Job token;
  token.tree.add_path(Tokens{-1});
  EXPECT_FALSE(plan_job(token, small_limits()).ok());
}

// Plays a plan on a decoder that keeps books; every read must see the logits of its own path.
void play(const Job& job, const DecoderLimits& limits) {
  const Result<Plan> plan = plan_job(job, limits);
  if (!plan.ok()) {
    EXPECT_EQ(plan.error().code, ErrorCode::kTooLong);
    return;
  }
  testing::FakeDecoder decoder(limits);
  std::vector<int> answered(job.reads.size(), 0);
  for (const Step& step : plan->steps) {
    for (const Fork& fork : step.forks) decoder.fork(fork.from, fork.to);
    ASSERT_TRUE(decoder.decode(step.rows, false).ok());
    for (const PlannedRead& read : step.reads) {
      answered[read.read]++;
      const std::span<const float> logits = decoder.logits(read.batch_row);
      EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()),
                testing::FakeDecoder::logits_of(job.tree.path(job.reads[read.read].row), limits.vocabulary_tokens));
    }
    for (const SequenceId sequence : step.releases) decoder.release(sequence);
  }
  EXPECT_TRUE(decoder.empty());
  EXPECT_TRUE(decoder.faults().empty()) << decoder.faults().front();
  for (const int count : answered) EXPECT_EQ(count, 1);
}

TEST(PlanJob, KeepsItsInvariantsOnRandomTreesOfBothKindsOfModel) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 600; round++) {
    DecoderLimits limits = small_limits();
    limits.whole_sequences_only = round % 2 == 1;
    limits.sequences_max = 2 + static_cast<int>(random() % 9);
    limits.batch_rows_max = 1 + static_cast<int>(random() % 12);
    limits.output_rows_max = 1 + static_cast<int>(random() % 4);
    Job job;
    const int paths = 1 + static_cast<int>(random() % 12);
    for (int i = 0; i < paths; i++) {
      Tokens tokens(1 + random() % 9);
      for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 3);
      job.tree.add_path(tokens);
    }
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(job.tree.size()); row++) {
      if (random() % 2 == 0) job.reads.push_back({.row = row, .targets = {0}});
    }
    play(job, limits);
    if (HasFailure()) FAIL() << "round " << round << " of seed 20261129";
  }
}

}  // namespace
}  // namespace assay::engine
