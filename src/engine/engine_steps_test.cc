// How many rows a step computes, and of which kind.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/testing/engine_rig.h"

namespace assay::engine {
namespace {

using testing::any_rows_limits;
using testing::attention_limits;
using testing::chain_job;
using testing::EngineRig;
using testing::expect_right;
using testing::FakeDecoder;
using testing::run_of;
using testing::short_limits;

Job job_of(std::int32_t rows) { return chain_job({run_of(rows, rows % 40)}); }

// Lets the engine measure its decoder: a thousand rows a second where nothing else is said.
void measure(EngineRig& rig) { ASSERT_TRUE(rig.run(job_of(64)).ok()); }

TEST(EngineSteps, FollowTheMeasuredRate) {
  EngineRig rig(attention_limits(), {.step_ms = 40, .long_steps = 1});
  measure(rig);
  auto future = rig.add(job_of(390));
  rig.step();
  EXPECT_EQ(rig.batches.back(), 40);
  EXPECT_NEAR(rig.engine.rows_per_second(), 1000, 1);
  rig.rows_per_second = 500;  // slower from now on
  for (int i = 0; i < 12; i++) rig.step();
  EXPECT_EQ(rig.batches.back(), 20);
  rig.rows_per_second = 10;  // never fewer rows than the bits need
  rig.step();
  rig.step();
  EXPECT_EQ(rig.batches.back(), 16);
  rig.finish_all();
  rig.rows_per_second = 1e6;
  auto next = rig.add(job_of(390));
  rig.step();
  rig.step();
  EXPECT_EQ(rig.batches.back(), 64);  // never more than the decoder takes
  rig.finish_all();
  EXPECT_TRUE(future.get().ok());
  EXPECT_TRUE(next.get().ok());
}

TEST(EngineSteps, HaveAsManyRowsAsTheBitsNeed) {
  EngineRig rig(attention_limits());
  for (const std::int32_t rows : {1, 2, 15, 16, 17, 18, 63, 65, 131}) EXPECT_TRUE(rig.run(job_of(rows)).ok());
  for (const std::int32_t rows : rig.batches) {
    EXPECT_GE(rows, 16);
    EXPECT_LE(rows, 64);
    EXPECT_EQ(rows % 4, 0);
  }
  const EngineStats stats = rig.engine.stats();
  EXPECT_EQ(stats.rows, 1u + 2 + 15 + 16 + 17 + 18 + 63 + 65 + 131);
  EXPECT_EQ(stats.rows + stats.padding_rows, static_cast<std::uint64_t>(rig.decoder.rows_decoded()));
  EXPECT_EQ(stats.steps, rig.batches.size());
  EXPECT_TRUE(rig.decoder.empty());
}

// Whoever watches sees each number before the job is answered, and the ones that the answer has.
TEST(EngineSteps, TellReadsAsTheyCome) {
  EngineRig rig(attention_limits());
  Job job = chain_job({run_of(150, 3)});
  job.reads = {{.segment = 0, .offset = 20, .targets = {1, 2}}, {.segment = 0, .offset = 149, .targets = {3}}};
  std::vector<std::pair<std::size_t, ReadResult>> told;
  job.terms.on_read = [&told](std::size_t read, const ReadResult& numbers) { told.emplace_back(read, numbers); };
  auto future = rig.add(std::move(job));
  rig.step();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, 0u);
  EXPECT_TRUE(rig.engine.has_work());
  rig.finish_all();
  const Result<JobResult> result = future.get();
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(told.size(), 2u);
  for (const auto& [read, numbers] : told) {
    EXPECT_EQ(numbers.logits, result->reads[read].logits);
    EXPECT_EQ(numbers.log_sum_exp, result->reads[read].log_sum_exp);
  }
}

// A read that needs no whole vocabulary has its own bits, also in a batch where another one does.
TEST(EngineSteps, ComputeTheVocabularyOnlyForThoseWhoAskedForIt) {
  DecoderLimits limits = any_rows_limits();
  limits.option_head = true;
  const auto job_with = [](bool vocabulary, TokenId first) {
    Job job = chain_job({run_of(30, first)});
    job.reads = {{.segment = 0, .offset = 29, .targets = {1, 2}, .vocabulary = vocabulary}};
    return job;
  };
  EngineRig alone(limits);
  const Result<JobResult> few = alone.run(job_with(false, 3));
  EXPECT_EQ(alone.decoder.decodes_without_logits(), alone.decoder.decodes());
  const Result<JobResult> all = alone.run(job_with(true, 3));
  ASSERT_TRUE(few.ok() && all.ok());
  EXPECT_FALSE(few->reads[0].vocabulary);
  EXPECT_TRUE(all->reads[0].vocabulary);
  for (std::size_t i = 0; i < 2; i++)
    EXPECT_EQ(few->reads[0].logits[i], all->reads[0].logits[i] + FakeDecoder::kOptionHeadError);
  EngineRig together(limits);
  auto first = together.add(job_with(false, 3));
  auto second = together.add(job_with(true, 3));
  together.finish_all();
  EXPECT_EQ(first.get()->reads[0].logits, few->reads[0].logits);
  EXPECT_EQ(second.get()->reads[0].log_sum_exp, all->reads[0].log_sum_exp);
  // A decoder that cannot does the whole of it.
  limits.option_head = false;
  EngineRig without(limits);
  EXPECT_TRUE(without.run(job_with(false, 3))->reads[0].vocabulary);
  EXPECT_EQ(without.decoder.decodes_without_logits(), 0);
}

TEST(EngineSteps, AreLongerWhileALongJobIsFirst) {
  EngineRig rig(attention_limits(), {.step_ms = 20, .long_steps = 3});
  measure(rig);
  auto first = rig.add(job_of(390));
  rig.step();
  EXPECT_EQ(rig.batches.back(), 60);
  auto second = rig.add(job_of(200));
  rig.step();
  EXPECT_EQ(rig.batches.back(), 60);
  auto third = rig.add(job_of(30));  // goes first, and is not to wait for the others' rows
  rig.step();
  EXPECT_EQ(rig.batches.back(), 20);
  rig.finish_all();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_TRUE(third.get().ok());
}

// Only a lone row gets company: it has kernels of its own.
TEST(EngineSteps, ShortOnesAreNotFilledUp) {
  EngineRig rig(any_rows_limits());
  for (std::int32_t rows = 1; rows < 16; rows++) {
    ASSERT_TRUE(rig.run(job_of(rows)).ok());
    EXPECT_EQ(rig.batches.back(), std::max(rows, 2));
  }
  EXPECT_EQ(rig.batches.size(), 15u);
  EXPECT_EQ(rig.engine.stats().padding_rows, 1u);
  EXPECT_TRUE(rig.decoder.empty());
}

TEST(EngineSteps, ShortOnesHaveWholeGroupsWhereTheBitsNeedThem) {
  EngineRig rig(short_limits());
  for (const std::int32_t rows : {1, 8, 9, 12}) ASSERT_TRUE(rig.run(job_of(rows)).ok());
  EXPECT_EQ(rig.batches, (std::vector<std::int32_t>{8, 8, 12, 12}));
  ASSERT_TRUE(rig.run(job_of(15)).ok());  // a short decode has no room for all
  EXPECT_EQ(std::vector<std::int32_t>(rig.batches.begin() + 4, rig.batches.end()), (std::vector<std::int32_t>{12, 8}));
}

TEST(EngineSteps, ShortOnesAreSharedByManyJobsAndNeverMixedWithFullOnes) {
  EngineRig rig(any_rows_limits());
  const Job kept = chain_job({run_of(20, 1), run_of(5, 2)}, {Keep::kAlways});
  ASSERT_TRUE(rig.run(kept).ok());
  EXPECT_EQ(rig.batches, (std::vector<std::int32_t>{20, 5}));  // each segment its own way, one after the other
  rig.batches.clear();
  std::vector<EngineRig::Future> futures;
  for (int i = 0; i < 4; i++) futures.push_back(rig.add(kept));
  futures.push_back(rig.add(job_of(30)));
  rig.finish_all();
  EXPECT_EQ(rig.batches, (std::vector<std::int32_t>{15, 5, 30}));
  EXPECT_EQ(rig.engine.stats().padding_rows, 0u);
  for (EngineRig::Future& future : futures) EXPECT_TRUE(future.get().ok());
}

// Tiles, batches and steps as with a real model, on a machine so slow that a batch has 64 rows.
DecoderLimits real_sizes() {
  DecoderLimits limits = attention_limits();
  limits.batch_rows_max = 512;
  limits.output_rows_max = 64;
  limits.cells = 4096;
  limits.path_rows_max = 2048;
  limits.rules = {.rows_multiple = 1, .outputs_min = 1, .outputs_multiple = 1};
  return limits;
}

TEST(EngineSteps, ARestOfLessThanABatchGoesIntoTheBatchBefore) {
  for (const bool short_decodes : {false, true}) {
    DecoderLimits limits = real_sizes();
    limits.rules.short_decodes = short_decodes;
    EngineRig rig(limits);
    rig.rows_per_second = 100;
    measure(rig);
    rig.batches.clear();
    expect_right(job_of(85), rig.run(job_of(85)), limits);
    EXPECT_EQ(rig.batches, (std::vector<std::int32_t>{85}));
    rig.batches.clear();
    expect_right(job_of(128), rig.run(job_of(128)), limits);
    EXPECT_EQ(rig.batches, (std::vector<std::int32_t>{64, 64}));
    rig.batches.clear();
    auto first = rig.add(job_of(80));  // 64 and the rest of both
    auto second = rig.add(job_of(67));
    rig.finish_all();
    EXPECT_EQ(rig.batches, (std::vector<std::int32_t>{64, 83}));
    expect_right(job_of(80), first.get(), limits);
    expect_right(job_of(67), second.get(), limits);
    EXPECT_EQ(rig.engine.stats().padding_rows, 0u);
    if (!short_decodes) continue;
    rig.batches.clear();
    ASSERT_TRUE(rig.run(chain_job({run_of(85, 1), run_of(50, 2)})).ok());  // what goes into short ones is no rest
    EXPECT_EQ(rig.batches, (std::vector<std::int32_t>{85, 50}));
  }
}

// The next wave's leaves begin with copies of what is computed, so they have to wait for it.
TEST(EngineSteps, ARestBehindAnotherWaveHasABatchOfItsOwn) {
  const DecoderLimits limits = real_sizes();  // eight leaves at once
  EngineRig rig(limits);
  rig.rows_per_second = 100;
  measure(rig);
  rig.batches.clear();
  Job job = chain_job({run_of(64, 1)});
  job.reads.clear();
  for (std::int32_t i = 0; i < 10; i++) {
    job.segments.push_back({.parent = 0, .tokens = run_of(2, i)});
    job.reads.push_back({.segment = 1 + i, .offset = 1, .targets = {i, 3}});
  }
  expect_right(job, rig.run(job), limits);
  EXPECT_EQ(rig.batches, (std::vector<std::int32_t>{64 + 8 * 2, 64}));
  EXPECT_EQ(rig.engine.stats().padding_rows, 60u);
}

TEST(EngineSteps, TakeNoMoreReadsThanTheDecoderHasOutputs) {
  DecoderLimits limits = attention_limits();
  limits.output_rows_max = 9;
  EngineRig rig(limits);
  Job job = job_of(60);
  job.reads.clear();
  for (std::int32_t i = 0; i < 60; i++) job.reads.push_back({.segment = 0, .offset = i, .targets = {i % 40}});
  auto beside = rig.add(job_of(20));
  expect_right(job, rig.run(job), limits);
  EXPECT_TRUE(beside.get().ok());
}

}  // namespace
}  // namespace assay::engine
