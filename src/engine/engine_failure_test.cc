// Decodes that fail, numbers that are none, and kept segments that come from an earlier run.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/testing/engine_rig.h"

namespace assay::engine {
namespace {

using testing::attention_limits;
using testing::chain_job;
using testing::EngineRig;
using testing::expect_right;
using testing::MemoryStore;
using testing::recurrent_limits;
using testing::run_of;
using testing::short_limits;

constexpr TokenId kPoison = 39;

Job job_of(std::int32_t rows, TokenId first) {
  Job job = chain_job({run_of(20, 1, 30), run_of(rows, first, 30)}, {Keep::kAlways});
  return job;
}

Job poisoned_job() {
  Job job = job_of(12, 2);
  job.segments[1].tokens[7] = kPoison;
  return job;
}

Status fail_on_poison(int, std::span<const BatchRow> rows) {
  for (const BatchRow& row : rows) {
    if (row.token == kPoison) return Error{ErrorCode::kInternal, "played fault", ""};
  }
  return {};
}

// Six jobs, the fourth of which breaks every batch that it is in.
void expect_only_the_culprit_fails(EngineRig& rig, ErrorCode code) {
  std::vector<Job> jobs;
  for (TokenId i = 0; i < 6; i++) jobs.push_back(i == 3 ? poisoned_job() : job_of(10 + i, i));
  std::vector<EngineRig::Future> futures;
  for (const Job& job : jobs) futures.push_back(rig.add(job));
  rig.finish_all();
  for (std::size_t i = 0; i < jobs.size(); i++) {
    const Result<JobResult> result = futures[i].get();
    if (i == 3) {
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code, code);
    } else {
      expect_right(jobs[i], result, rig.decoder.limits());
    }
  }
  const Job after = job_of(30, 9);
  expect_right(after, rig.run(after), rig.decoder.limits());
}

TEST(EngineFailures, ADecodeErrorFailsOnlyTheJobThatCausesIt) {
  for (const DecoderLimits& limits : {attention_limits(), short_limits(), recurrent_limits()}) {
    EngineRig rig(limits);
    rig.on_decode = fail_on_poison;
    expect_only_the_culprit_fails(rig, ErrorCode::kInternal);
    EXPECT_EQ(rig.engine.failures_in_a_row(), 0);
    EXPECT_GE(rig.engine.stats().failed_steps, 1u);
  }
}

TEST(EngineFailures, NumbersThatAreNoneFailOnlyTheirJob) {
  for (const DecoderLimits& limits : {attention_limits(), short_limits(), recurrent_limits()}) {
    EngineRig rig(limits);
    rig.decoder.on_logits = [](const Tokens& path, std::vector<float>& logits) {
      if (std::find(path.begin(), path.end(), kPoison) != path.end()) logits[17] = std::nanf("");
    };
    expect_only_the_culprit_fails(rig, ErrorCode::kNonfiniteLogits);
    EXPECT_EQ(rig.engine.failures_in_a_row(), 0);
  }
}

TEST(EngineFailures, WhenEveryDecodeFailsEachJobFailsOnceAndTheEngineCanBeUsedAfterwards) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits);
    bool broken = true;
    rig.on_decode = [&broken](int, std::span<const BatchRow>) -> Status {
      if (broken) return Error{ErrorCode::kInternal, "played fault", ""};
      return {};
    };
    std::vector<EngineRig::Future> futures;
    for (TokenId i = 0; i < 5; i++) futures.push_back(rig.add(job_of(10, i)));
    rig.finish_all();
    for (EngineRig::Future& future : futures) EXPECT_EQ(future.get().error().message, "played fault");
    EXPECT_EQ(rig.engine.failures_in_a_row(), 5);
    broken = false;
    expect_right(job_of(50, 3), rig.run(job_of(50, 3)), limits);
    EXPECT_EQ(rig.engine.failures_in_a_row(), 0);
  }
}

TEST(EngineFailures, KeptSegmentsAreForgottenAndJobsThatRanAreComputedAgain) {
  EngineRig rig(attention_limits(), {.step_ms = 32});
  rig.on_decode = fail_on_poison;
  auto long_job = rig.add(job_of(300, 5));
  for (int i = 0; i < 4; i++) rig.step();
  auto culprit = rig.add(poisoned_job());
  rig.finish_all();
  EXPECT_FALSE(culprit.get().ok());
  expect_right(job_of(300, 5), long_job.get(), attention_limits());
  EXPECT_GE(rig.decoder.resets(), 1);
}

TEST(EngineFailures, AbortAnswersEverybodyAndLeavesAnEngineThatWorks) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits, {.step_ms = 16});
    std::vector<EngineRig::Future> futures;
    for (TokenId i = 0; i < 4; i++) futures.push_back(rig.add(job_of(100, i)));
    rig.step();
    rig.step();
    rig.engine.abort(Error{ErrorCode::kUnavailable, "closing", ""});
    rig.engine.deliver();
    EXPECT_EQ(rig.engine.broken_invariant(), "");
    for (EngineRig::Future& future : futures) EXPECT_EQ(future.get().error().code, ErrorCode::kUnavailable);
    expect_right(job_of(30, 2), rig.run(job_of(30, 2)), limits);
  }
}

TEST(EngineStore, PutsAKeptSegmentOnceAndComputesItNeverAgain) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    MemoryStore store;
    const Job job = chain_job({run_of(20, 1), run_of(33, 2), run_of(5, 3)}, {Keep::kAlways, Keep::kAlways});
    const int kept = limits.whole_sequences_only ? 1 : 2;  // a recurrent snapshot is a whole sequence
    {
      EngineRig rig(limits, {}, &store);
      ASSERT_TRUE(rig.run(job).ok());
      ASSERT_TRUE(rig.run(job).ok());
      EXPECT_EQ(store.puts, kept);
    }
    EngineRig rig(limits, {}, &store);
    const Result<JobResult> result = rig.run(job);
    expect_right(job, result, limits);
    EXPECT_EQ(result->cached_tokens, kept == 2 ? 53 : 20);
    EXPECT_EQ(result->computed_rows, kept == 2 ? 5 : 38);
    EXPECT_EQ(rig.decoder.restores(), kept);
    EXPECT_EQ(store.puts, kept);
  }
}

TEST(EngineStore, GivesTheSameBitsAsComputing) {
  for (const DecoderLimits& limits : {attention_limits(), short_limits(), recurrent_limits()}) {
    MemoryStore store;
    const std::int32_t state_rows = limits.rules.short_decodes ? 13 : 33;
    const Job job = chain_job({run_of(20, 1), run_of(state_rows, 2), run_of(5, 3)}, {Keep::kAlways, Keep::kAlways});
    std::vector<std::vector<float>> logits;
    for (int run = 0; run < 2; run++) {
      EngineRig rig(limits, {}, &store);
      rig.decoder.layout_moves_bits = true;
      if (run == 1) {
        ASSERT_TRUE(rig.run(chain_job({run_of(70, 8)})).ok());
      }
      logits.push_back(rig.run(job)->reads[0].logits);
    }
    EXPECT_EQ(logits[0], logits[1]);
  }
}

TEST(EngineStore, BytesThatCannotBeRestoredAreComputedInstead) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    MemoryStore store;
    const Job job = chain_job({run_of(20, 1), run_of(33, 2), run_of(5, 3)}, {Keep::kAlways, Keep::kAlways});
    {
      EngineRig rig(limits, {}, &store);
      ASSERT_TRUE(rig.run(job).ok());
    }
    for (auto& [path, bytes] : store.saved) {
      if (path.second > 0 || limits.whole_sequences_only) bytes = "torn";
    }
    EngineRig rig(limits, {}, &store);
    const Result<JobResult> result = rig.run(job);
    expect_right(job, result, limits);
    EXPECT_EQ(result->cached_tokens, limits.whole_sequences_only ? 0 : 20);
    EXPECT_EQ(rig.run(job)->cached_tokens, 53);
  }
}

}  // namespace
}  // namespace assay::engine
