// Who is next, and what is refused or dropped.
#include <gtest/gtest.h>

#include <string>

#include "engine/testing/engine_rig.h"

namespace assay::engine {
namespace {

using testing::attention_limits;
using testing::chain_job;
using testing::EngineRig;
using testing::expect_right;
using testing::is_ready;
using testing::recurrent_limits;
using testing::run_of;

// The rig's decoder computes a thousand rows a second; with a step of 64 ms a batch has 64 rows at most.
constexpr EngineOptions kShortSteps = {.step_ms = 64};

Job job_of(std::int32_t rows, const std::string& client = "") {
  Job job = chain_job({run_of(rows, rows % 40)});
  job.terms.client = client;
  return job;
}

Job bulk_job(std::int32_t rows) {
  Job job = job_of(rows);
  job.terms.bulk = true;
  return job;
}

// Lets the engine measure its decoder: the first decode after a start does not count.
void measure(EngineRig& rig) {
  for (int i = 0; i < 2; i++) ASSERT_TRUE(rig.run(job_of(64)).ok());
}

// Steps until the future is there; how many.
int steps_until(EngineRig& rig, EngineRig::Future& future) {
  int steps = 0;
  while (!is_ready(future) && rig.engine.has_work() && steps < 10000) {
    rig.step();
    steps++;
  }
  EXPECT_TRUE(is_ready(future));
  return steps;
}

TEST(EngineOrder, ShortJobsOvertakeLongOnes) {
  EngineRig rig(attention_limits(), kShortSteps);
  measure(rig);
  auto long_job = rig.add(job_of(390));
  rig.step();
  auto short_job = rig.add(job_of(10));
  EXPECT_EQ(steps_until(rig, short_job), 1);
  EXPECT_FALSE(is_ready(long_job));
  EXPECT_EQ(rig.batches.back(), 16);  // the long one has what is missing to a batch, and no more
  rig.finish_all();
}

TEST(EngineOrder, ALongJobEndsUnderASteadyStreamOfShortOnes) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits, kShortSteps);
    measure(rig);
    auto long_job = rig.add(job_of(390));
    std::vector<EngineRig::Future> stream;
    int steps = 0;
    while (!is_ready(long_job) && steps < 200) {  // each step brings as much as it can compute
      for (int i = 0; i < 2; i++) stream.push_back(rig.add(job_of(32)));
      rig.step();
      steps++;
    }
    EXPECT_TRUE(is_ready(long_job));
    EXPECT_GT(steps, 7);  // it did stand back: alone it needs seven
    rig.finish_all();
    for (EngineRig::Future& future : stream) EXPECT_TRUE(future.get().ok());
  }
}

// After 256 of its 390 rows it has waited for longer than the rest takes, so its age puts it first.
TEST(EngineOrder, ALongJobInItsSecondHalfLeavesEveryOtherStepToShortOnes) {
  EngineRig rig(attention_limits(), kShortSteps);
  measure(rig);
  auto long_job = rig.add(job_of(390));
  for (int i = 0; i < 4; i++) rig.step();
  auto first = rig.add(job_of(10));
  EXPECT_EQ(steps_until(rig, first), 1);  // the long one had the step before
  auto second = rig.add(job_of(10));
  EXPECT_EQ(steps_until(rig, second), 2);
  EXPECT_FALSE(is_ready(long_job));
  rig.finish_all();
  EXPECT_TRUE(long_job.get().ok());
}

// As long as short ones come now and then, nobody of them waits for long steps of a long one.
TEST(EngineOrder, WhereShortJobsKeepComingALongOneTakesShortSteps) {
  DecoderLimits limits = attention_limits();
  limits.batch_rows_max = 256;
  limits.cells = 4096;
  limits.path_rows_max = 3000;
  EngineRig rig(limits, {.step_ms = 64, .long_steps = 3, .watched_steps = 0.5});
  measure(rig);
  auto long_job = rig.add(job_of(2900));
  rig.step();
  EXPECT_EQ(rig.batches.back(), 192);
  auto short_job = rig.add(job_of(40));
  rig.step();
  EXPECT_TRUE(is_ready(short_job));
  EXPECT_EQ(rig.batches.back(), 40);
  rig.step();
  EXPECT_EQ(rig.batches.back(), 32);
  rig.clock.advance_ms(10'000);  // none came for long
  rig.step();
  EXPECT_EQ(rig.batches.back(), 192);
  rig.finish_all();
  EXPECT_TRUE(long_job.get().ok());
}

// Rows far behind cost more, so a step there has fewer, and a short prompt is not thought to be as slow.
TEST(EngineOrder, StepsOfALongJobTakeAsLongAtAnyDepth) {
  DecoderLimits limits = attention_limits();
  limits.batch_rows_max = 256;
  limits.cells = 4096;
  limits.path_rows_max = 3000;
  EngineRig rig(limits, {.step_ms = 64, .long_steps = 1});
  std::vector<double> step_ms;
  rig.on_decode = [&](int, std::span<const BatchRow> rows) -> Status {
    double ms = 0;
    for (const BatchRow& row : rows) ms += 0.0005 * row.position;  // at depth 2000 a row takes 2 ms instead of 1
    rig.clock.advance_ms(ms);
    step_ms.push_back(ms + static_cast<double>(rows.size()));
    return {};
  };
  measure(rig);
  auto long_job = rig.add(job_of(2900));
  for (int i = 0; i < 10; i++) rig.step();
  while (!is_ready(long_job)) {
    rig.step();
    if (is_ready(long_job)) break;
    EXPECT_NEAR(step_ms.back(), 64, 12) << step_ms.size();
  }
  Job job = job_of(60);
  job.terms.deadline_ns = rig.clock.now_ns() + 90'000'000;
  auto timely = rig.add(job);
  EXPECT_FALSE(is_ready(timely)) << "60 rows at the beginning take about 64 ms";
  rig.finish_all();
}

TEST(EngineOrder, BulkJobsStandBackButEnd) {
  EngineRig rig(attention_limits(), {.step_ms = 64, .bulk_wait_seconds = 5});
  measure(rig);
  auto bulk = rig.add(bulk_job(10));
  auto interactive = rig.add(job_of(200));
  EXPECT_EQ(steps_until(rig, interactive), 4);  // 200 rows; the last batch had room for the bulk job as well
  rig.finish_all();
  EXPECT_TRUE(bulk.get().ok());

  auto patient = rig.add(bulk_job(60));
  const std::int64_t start_ns = rig.clock.now_ns();
  std::vector<EngineRig::Future> stream;
  while (!is_ready(patient) && rig.clock.ms_since(start_ns) < 20e3) {
    stream.push_back(rig.add(job_of(64)));
    rig.step();
  }
  EXPECT_TRUE(is_ready(patient));
  EXPECT_GT(rig.clock.ms_since(start_ns), 4e3);
  rig.finish_all();
}

TEST(EngineOrder, AClientWithManyJobsDoesNotStarveOneWithFew) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits, kShortSteps);
    measure(rig);
    std::vector<EngineRig::Future> many;
    for (int i = 0; i < 100; i++) many.push_back(rig.add(job_of(60, "many")));
    for (int i = 0; i < 30; i++) rig.step();  // what waits has waited for two seconds by now
    auto one = rig.add(job_of(60, "one"));
    EXPECT_LE(steps_until(rig, one), 2);
    auto again = rig.add(job_of(60, "one"));
    EXPECT_LE(steps_until(rig, again), 4);
    rig.finish_all();
    for (EngineRig::Future& future : many) EXPECT_TRUE(future.get().ok());
  }
}

TEST(EngineOrder, TwoClientsGetEqualShares) {
  EngineRig rig(attention_limits(), kShortSteps);
  measure(rig);
  std::vector<EngineRig::Future> first;
  std::vector<EngineRig::Future> second;
  for (int i = 0; i < 50; i++) first.push_back(rig.add(job_of(64, "first")));
  for (int i = 0; i < 3; i++) rig.step();
  for (int i = 0; i < 50; i++) second.push_back(rig.add(job_of(64, "second")));
  for (int i = 0; i < 40; i++) rig.step();
  const auto done = [](auto& futures) { return std::count_if(futures.begin(), futures.end(), is_ready); };
  EXPECT_NEAR(static_cast<double>(done(first)), static_cast<double>(done(second)), 4);
  rig.finish_all();
}

TEST(EngineOrder, AClientThatHadMuchLatelyStandsBack) {
  EngineRig rig(attention_limits(), kShortSteps);
  for (int i = 0; i < 20; i++) ASSERT_TRUE(rig.run(job_of(64, "much")).ok());
  auto much = rig.add(job_of(60, "much"));
  auto little = rig.add(job_of(64, "little"));
  EXPECT_EQ(steps_until(rig, little), 1);
  EXPECT_FALSE(is_ready(much));
  rig.finish_all();
}

// It needs 25 of 26 tiles. The others never end with a step (33 + 64 n rows, 32 a step), so that one always runs:
// without keeping younger ones out there would never be room.
TEST(EngineOrder, AJobThatNeedsMuchRoomGetsItUnderASteadyStream) {
  DecoderLimits limits = attention_limits();
  limits.cells = 27 * 16;
  EngineRig rig(limits, {.step_ms = 32});
  measure(rig);
  std::vector<EngineRig::Future> stream;
  stream.push_back(rig.add(job_of(33)));
  rig.step();
  auto large = rig.add(job_of(390));
  int steps = 0;
  for (; !is_ready(large) && steps < 500; steps++) {
    while (rig.engine.stats().queued < 3) stream.push_back(rig.add(job_of(64)));
    rig.step();
  }
  EXPECT_LT(steps, 100);
  rig.finish_all();
}

TEST(EngineOrder, WhoComputesWhatOthersWaitForGoesAsEarlyAsTheyWould) {
  EngineRig rig(attention_limits(), {.step_ms = 64, .bulk_wait_seconds = 100});
  measure(rig);
  Job first = chain_job({run_of(250, 1), {5}}, {Keep::kAlways});
  first.terms.bulk = true;
  auto owner = rig.add(first);
  rig.step();
  auto waiting = rig.add(chain_job({run_of(250, 1), {6}}, {Keep::kAlways}));  // one row, once the prefix is there
  auto other = rig.add(job_of(200));        // longer than what is left of the prefix, and fits beside it
  EXPECT_LE(steps_until(rig, waiting), 4);  // three more for the prefix, one for its own row
  EXPECT_FALSE(is_ready(other));
  rig.finish_all();
  EXPECT_TRUE(owner.get().ok());
}

TEST(EngineDeadlines, AJobThatCannotMakeItIsRefusedAtOnce) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits, kShortSteps);
    measure(rig);
    const auto with_deadline = [&rig](std::int32_t rows, double ms) {
      Job job = job_of(rows);
      job.terms.deadline_ns = rig.clock.now_ns() + static_cast<std::int64_t>(ms * 1e6);
      return job;
    };
    auto refused = rig.add(with_deadline(300, 250));
    ASSERT_TRUE(is_ready(refused));
    const Result<JobResult> result = refused.get();
    EXPECT_EQ(result.error().code, ErrorCode::kTooBusy);
    EXPECT_EQ(result.error().field, "timeout_ms");
    EXPECT_GE(result.error().retry_after_seconds, 1);
    EXPECT_FALSE(rig.engine.has_work());
    auto accepted = rig.add(with_deadline(300, 500));
    EXPECT_FALSE(is_ready(accepted));
    rig.finish_all();
    EXPECT_TRUE(accepted.get().ok());
    std::vector<EngineRig::Future> before;
    for (int i = 0; i < 40; i++) before.push_back(rig.add(job_of(100)));  // four seconds
    EXPECT_NEAR(rig.add(with_deadline(100, 3000)).get().error().retry_after_seconds, 4, 0.1);
    auto bulk = bulk_job(390);  // those stand back, so they take nothing from an interactive job
    before.push_back(rig.add(bulk));
    EXPECT_FALSE(is_ready(before.emplace_back(rig.add(with_deadline(10, 100)))));
    rig.finish_all();
    for (EngineRig::Future& future : before) EXPECT_TRUE(future.get().ok());
  }
}

// The first decode after a start waits for pages of weights; what it took says nothing about the next ones.
TEST(EngineDeadlines, NothingIsRefusedByWhatTheFirstDecodeTook) {
  EngineRig rig(attention_limits(), kShortSteps);
  rig.rows_per_second = 5;
  ASSERT_TRUE(rig.run(job_of(16)).ok());
  rig.rows_per_second = 1000;
  Job job = job_of(300);
  job.terms.deadline_ns = rig.clock.now_ns() + 400'000'000;
  auto accepted = rig.add(job);
  EXPECT_FALSE(is_ready(accepted));
  rig.finish_all();
  EXPECT_TRUE(accepted.get().ok());
}

TEST(EngineDeadlines, WhatOthersComputeIsNotCountedTwice) {
  EngineRig rig(attention_limits(), kShortSteps);
  measure(rig);
  std::vector<EngineRig::Future> futures;
  for (int i = 0; i < 30; i++) {
    Job job = chain_job({run_of(300, 1), run_of(10, i)}, {Keep::kAlways});
    job.terms.deadline_ns = rig.clock.now_ns() + 1'000'000'000;  // 300 + 30 * 10 rows fit a second, 30 * 310 do not
    futures.push_back(rig.add(job));
  }
  rig.finish_all();
  for (EngineRig::Future& future : futures) EXPECT_TRUE(future.get().ok());
}

TEST(EngineDeadlines, LateJobsAreDroppedBeforeTheNextBatch) {
  EngineRig rig(attention_limits(), kShortSteps);
  Job late = job_of(200);
  late.terms.deadline_ns = 100'000'000;
  auto first = rig.add(late);  // nothing was measured yet, so it is tried
  auto second = rig.add(job_of(390));
  for (int i = 0; i < 4; i++) rig.step();  // 32, then twice 64 rows: it is late before the fourth
  ASSERT_TRUE(is_ready(first));
  EXPECT_EQ(first.get().error().code, ErrorCode::kDeadline);
  EXPECT_EQ(rig.engine.stats().jobs_late, 1u);
  rig.finish_all();
  expect_right(job_of(390), second.get(), attention_limits());
}

TEST(EngineCancels, DropAJobBeforeTheNextBatchAndLeaveItsNeighboursAlone) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits, kShortSteps);
    const auto cancelled = std::make_shared<std::atomic<bool>>(false);
    Job leaving = job_of(200);
    leaving.terms.cancelled = cancelled;
    auto first = rig.add(leaving);
    auto second = rig.add(job_of(30));
    auto third = rig.add(job_of(390));
    rig.step();
    cancelled->store(true);
    rig.step();
    ASSERT_TRUE(is_ready(first));
    EXPECT_EQ(first.get().error().code, ErrorCode::kCancelled);
    EXPECT_EQ(rig.engine.stats().jobs_cancelled, 1u);
    rig.finish_all();
    expect_right(job_of(30), second.get(), limits);
    expect_right(job_of(390), third.get(), limits);
    EXPECT_TRUE(rig.decoder.empty());
  }
}

TEST(EngineTimes, TellQueueAndComputeTimeApart) {
  EngineRig rig(attention_limits(), kShortSteps);
  measure(rig);
  auto first = rig.add(job_of(64));
  auto second = rig.add(job_of(64));
  rig.finish_all();
  EXPECT_NEAR(first.get()->queue_ms, 0, 1e-6);
  const Result<JobResult> result = second.get();
  EXPECT_NEAR(result->queue_ms, 64, 1e-6);
  EXPECT_NEAR(result->compute_ms, 64, 1e-6);
}

}  // namespace
}  // namespace assay::engine
