// Numbers, bits and kept segments. Who is next: engine_order_test.cc; steps: engine_steps_test.cc; failures:
// engine_failure_test.cc; everything at once: engine_simulation_test.cc.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/testing/engine_rig.h"

namespace assay::engine {
namespace {

using testing::any_rows_limits;
using testing::attention_limits;
using testing::chain_job;
using testing::EngineRig;
using testing::expect_right;
using testing::MemoryStore;
using testing::recurrent_limits;
using testing::run_of;
using testing::short_limits;

// A system prompt, one of a few states, a question, options: what a server gets.
Job decision(int state, int question, std::int32_t options) {
  Job job =
      chain_job({run_of(21, 1), run_of(30 + state, state), run_of(9, 20 + question)}, {Keep::kAlways, Keep::kAlways});
  for (std::int32_t i = 0; i < options; i++) {
    const std::int32_t rows = 1 + (i * 5 + question) % 7;
    job.segments.push_back({.parent = 2, .tokens = run_of(rows, 11 + i)});
    job.reads.push_back({.segment = 3 + i, .offset = rows - 1, .targets = {i, 7}});
  }
  return job;
}

// The same behind a system prompt and a state of few tokens.
Job short_decision(int state, int question, std::int32_t options) {
  Job job = decision(state, question, options);
  job.segments[0].tokens = run_of(7, 1);
  job.segments[1].tokens = run_of(11 + state, state);
  return job;
}

// Thirty tokens that are kept.
Job prompt(TokenId first) { return chain_job({run_of(30, first), {1}}, {Keep::kAlways}); }

std::vector<Job> decisions() {
  std::vector<Job> jobs;
  for (int i = 0; i < 14; i++) jobs.push_back(decision(i % 3, i, i % 4 * 3));
  Job two_roots;
  for (std::int32_t i = 0; i < 2; i++) {
    two_roots.segments.push_back({.parent = Segment::kRoot, .tokens = run_of(19 + i, 5)});
    two_roots.reads.push_back({.segment = i, .offset = 18, .targets = {1}});
  }
  jobs.push_back(two_roots);
  // With these options a job's own rows fill three decodes, so that it shares its kept segments with jobs whose own
  // rows go another way.
  for (const std::int32_t options : {0, 3, 14}) {
    jobs.push_back(decision(1, 5, options));
    for (int state = 0; state < 2; state++) jobs.push_back(short_decision(state, 3, options));
  }
  return jobs;
}

using Bits = std::vector<std::vector<float>>;

Bits bits_of(const Result<JobResult>& result) {
  EXPECT_TRUE(result.ok());
  Bits bits;
  if (!result.ok()) return bits;
  for (const ReadResult& read : result->reads) bits.push_back(read.logits);
  return bits;
}

// The answers to all jobs, `at_once` of them added before each step, in a random order; twice, so that the second time
// finds what the first one kept.
std::vector<Bits> answers(const DecoderLimits& limits, const BitRules& real, std::int32_t cache_tokens, int at_once) {
  EngineRig rig(limits, {.cache_tokens = cache_tokens});
  rig.decoder.layout_moves_bits = true;
  rig.decoder.real_rules = real;
  const std::vector<Job> jobs = decisions();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < 2 * jobs.size(); i++) order.push_back(i % jobs.size());
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(cache_tokens + at_once)));
  std::vector<std::pair<std::size_t, EngineRig::Future>> futures;
  for (const std::size_t job : order) {
    futures.emplace_back(job, rig.add(jobs[job]));
    if (static_cast<int>(futures.size()) % at_once != 0) continue;
    rig.step();
    if (at_once == 1) rig.finish_all();
  }
  rig.finish_all();
  std::vector<Bits> bits(2 * jobs.size());
  for (auto& [job, future] : futures) {
    Bits& first = bits[job];
    (first.empty() ? first : bits[job + jobs.size()]) = bits_of(future.get());
  }
  return bits;
}

// Whether each job has the bits that it has alone on an empty engine, whatever runs beside it and whatever is kept.
bool same_bits(const DecoderLimits& limits, const BitRules& real) {
  const std::vector<Job> jobs = decisions();
  std::vector<Bits> alone;
  for (const Job& job : jobs) {
    EngineRig rig(limits, {.cache_tokens = 0});
    rig.decoder.layout_moves_bits = true;
    rig.decoder.real_rules = real;
    alone.push_back(bits_of(rig.run(job)));
  }
  bool same = true;
  for (const std::int32_t cache_tokens : {0, 25, 60, 4096}) {
    for (const int at_once : {1, 2, 5, 30}) {
      const std::vector<Bits> beside = answers(limits, real, cache_tokens, at_once);
      for (std::size_t i = 0; i < beside.size(); i++) same = same && beside[i] == alone[i % alone.size()];
    }
  }
  return same;
}

TEST(EngineBits, DoNotDependOnWhatElseIsThere) {
  EXPECT_TRUE(same_bits(attention_limits(), attention_limits().rules));
  EXPECT_TRUE(same_bits(short_limits(), short_limits().rules));
  EXPECT_TRUE(same_bits(any_rows_limits(), any_rows_limits().rules));
  EXPECT_TRUE(same_bits(recurrent_limits(), recurrent_limits().rules));
}

// Decodes of 8 rows and more are one kind to the engine; in truth those below 16 have bits of their own.
TEST(EngineBits, MoveWhenShortDecodesAndFullOnesAreTakenForOneKind) {
  DecoderLimits limits = attention_limits();
  limits.rules.rows_min = 8;
  EXPECT_FALSE(same_bits(limits, short_limits().rules));
}

TEST(EngineBits, MoveWhenShortDecodesAreNotTheSameAmongThemselves) {
  EXPECT_FALSE(same_bits(short_limits(), attention_limits().rules));
  BitRules real = any_rows_limits().rules;
  EXPECT_TRUE(same_bits(any_rows_limits(), real));
  real.short_decodes = false;
  EXPECT_FALSE(same_bits(any_rows_limits(), real));
}

// What is promised is promised for each request: what it asks besides may send its own segments the other way.
TEST(EngineBits, OfAQuestionMayMoveWithTheRestOfItsRequestOnly) {
  const auto bits_at_end_of_question = [](const DecoderLimits& limits, std::int32_t options) {
    EngineRig rig(limits);
    rig.decoder.layout_moves_bits = true;
    return bits_of(rig.run(decision(0, 4, options))).front();
  };
  EXPECT_EQ(bits_at_end_of_question(short_limits(), 1), bits_at_end_of_question(short_limits(), 3));
  EXPECT_NE(bits_at_end_of_question(short_limits(), 1), bits_at_end_of_question(short_limits(), 14));
  EXPECT_EQ(bits_at_end_of_question(attention_limits(), 1), bits_at_end_of_question(attention_limits(), 14));
}

TEST(EngineBits, MoveWhenADecodeMayHaveFewRows) {
  DecoderLimits limits = attention_limits();
  limits.rules.rows_min = 8;
  EXPECT_FALSE(same_bits(limits, attention_limits().rules));
}

TEST(EngineBits, MoveWhenADecodeMayHaveAnyNumberOfRows) {
  DecoderLimits limits = attention_limits();
  limits.rules.rows_multiple = 4;
  BitRules real = limits.rules;
  EXPECT_TRUE(same_bits(limits, real));
  real.rows_multiple = 8;
  EXPECT_FALSE(same_bits(limits, real));
}

TEST(EngineBits, MoveWhenADecodeMayHaveFewRowsThatAreRead) {
  DecoderLimits limits = attention_limits();
  limits.rules.outputs_min = 4;
  EXPECT_FALSE(same_bits(limits, attention_limits().rules));
}

TEST(EngineBits, MoveWhenADecodeMayHaveAnyNumberOfRowsThatAreRead) {
  DecoderLimits limits = attention_limits();
  limits.rules.outputs_multiple = 1;
  EXPECT_FALSE(same_bits(limits, attention_limits().rules));
}

TEST(EngineBits, MoveWhenTilesAreTooSmall) {
  DecoderLimits limits = attention_limits();
  limits.rules = {
      .tile_cells = 8, .page_cells = 4, .rows_min = 4, .rows_multiple = 4, .outputs_min = 4, .outputs_multiple = 4};
  BitRules real = limits.rules;
  EXPECT_TRUE(same_bits(limits, real));
  real.tile_cells = 16;
  EXPECT_FALSE(same_bits(limits, real));
}

// Pages only matter once leaves share tiles, and how they do is the job's own affair; but the same option must have the
// same bits whichever options stand before it.
TEST(EngineBits, OfAnOptionMoveWithTheOptionsBeforeItWhenPagesAreTooSmall) {
  const auto option_bits = [](std::int32_t page_cells, std::int32_t rows_before) {
    DecoderLimits limits = attention_limits();
    limits.rules.page_cells = page_cells;
    EngineRig rig(limits);
    rig.decoder.layout_moves_bits = true;
    rig.decoder.real_rules = attention_limits().rules;
    Job job = chain_job({run_of(20, 1)});
    job.segments.push_back({.parent = 0, .tokens = run_of(rows_before, 3)});
    job.segments.push_back({.parent = 0, .tokens = run_of(3, 9)});
    job.reads = {{.segment = 2, .offset = 2, .targets = {5}}};
    return bits_of(rig.run(job));
  };
  EXPECT_EQ(option_bits(4, 2), option_bits(4, 5));
  EXPECT_NE(option_bits(1, 2), option_bits(1, 5));
}

TEST(Engine, AnswersWithTheNumbersOfEachJobsOwnPaths) {
  for (const DecoderLimits& limits : {attention_limits(), short_limits(), any_rows_limits(), recurrent_limits()}) {
    EngineRig rig(limits);
    const std::vector<Job> jobs = decisions();
    std::vector<EngineRig::Future> futures;
    for (const Job& job : jobs) futures.push_back(rig.add(job));
    rig.finish_all();
    for (std::size_t i = 0; i < jobs.size(); i++) expect_right(jobs[i], futures[i].get(), limits);
  }
}

TEST(Engine, GivesHiddenStatesOnlyToThoseWhoAskForThem) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits);
    Job asking = decision(0, 1, 4);
    for (Read& read : asking.reads) read.hidden_state = true;
    auto with = rig.add(asking);
    auto without = rig.add(decision(0, 2, 4));
    rig.finish_all();
    expect_right(asking, with.get(), limits);
    expect_right(decision(0, 2, 4), without.get(), limits);
  }
}

TEST(Engine, ComputesASharedPrefixOnceForAllWhoWaitForIt) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits);
    std::vector<EngineRig::Future> futures;
    for (int i = 0; i < 20; i++) futures.push_back(rig.add(decision(2, i, 0)));
    rig.finish_all();
    std::int32_t computed = 0;
    int found_it = 0;
    for (EngineRig::Future& future : futures) {
      const Result<JobResult> result = future.get();
      ASSERT_TRUE(result.ok());
      computed += result->computed_rows;
      if (result->cached_tokens == 21 + 32) found_it++;
      EXPECT_EQ(result->computed_rows, 21 + 32 + 9 - result->cached_tokens);
    }
    EXPECT_EQ(found_it, 19);
    EXPECT_EQ(computed, 21 + 32 + 20 * 9);
    EXPECT_EQ(rig.engine.stats().cached_prefix_tokens, 21 + 32);
    EXPECT_EQ(rig.engine.stats().prefix_lookup_tokens, 20u * (21 + 32));
    EXPECT_EQ(rig.engine.stats().prefix_hit_tokens, 19u * (21 + 32));
  }
}

TEST(Engine, KeepsWhatAJobSaysAndFindsItForTheNext) {
  EngineRig rig(attention_limits());
  EXPECT_EQ(rig.run(decision(0, 0, 0))->cached_tokens, 0);
  EXPECT_EQ(rig.engine.stats().cached_prefix_tokens, 21 + 30);  // the system prompt and the state
  EXPECT_EQ(rig.run(decision(0, 1, 0))->cached_tokens, 21 + 30);
  EXPECT_EQ(rig.run(decision(1, 2, 0))->cached_tokens, 21);
}

TEST(Engine, KeepsNothingWithoutACache) {
  EngineRig rig(attention_limits(), {.cache_tokens = 0});
  for (int i = 0; i < 3; i++) EXPECT_EQ(rig.run(decision(0, i, 2))->cached_tokens, 0);
  EXPECT_EQ(rig.engine.stats().cached_prefixes, 0);
  EXPECT_TRUE(rig.decoder.empty());
}

TEST(Engine, AJobWhoseRowsAreAllKeptIsAnsweredWithoutADecode) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits);
    const Job warm{.segments = {{.tokens = run_of(30, 2), .keep = Keep::kAlways}}, .reads = {}, .terms = {}};
    EXPECT_EQ(rig.run(warm)->computed_rows, 30);
    const int decodes = rig.decoder.decodes();
    rig.clock.advance_ms(5);
    auto first = rig.add(warm);
    auto second = rig.add(warm);
    rig.finish_all();
    const Result<JobResult> result = first.get();
    EXPECT_EQ(result->computed_rows, 0);
    EXPECT_EQ(result->cached_tokens, 30);
    EXPECT_EQ(result->queue_ms, 0);
    EXPECT_TRUE(second.get().ok());
    EXPECT_EQ(rig.decoder.decodes(), decodes);
  }
}

TEST(Engine, DropsTheSegmentUsedLongestAgoAndStaysWithinItsCache) {
  EngineRig rig(attention_limits(), {.cache_tokens = 70});
  ASSERT_TRUE(rig.run(prompt(1)).ok());
  ASSERT_TRUE(rig.run(prompt(2)).ok());
  ASSERT_TRUE(rig.run(prompt(1)).ok());
  ASSERT_TRUE(rig.run(prompt(3)).ok());  // 30 + 30 are kept: the one of prompt 2 goes
  EXPECT_EQ(rig.engine.stats().cached_prefix_tokens, 60);
  EXPECT_EQ(rig.engine.stats().prefix_evictions, 1u);
  EXPECT_EQ(rig.run(prompt(1))->cached_tokens, 30);
  EXPECT_EQ(rig.run(prompt(3))->cached_tokens, 30);
  EXPECT_EQ(rig.run(prompt(2))->cached_tokens, 0);
}

TEST(Engine, NeverDropsASegmentInUse) {
  EngineRig rig(attention_limits(), {.step_ms = 16, .cache_tokens = 35});
  ASSERT_TRUE(rig.run(prompt(1)).ok());
  const Job user = chain_job({run_of(30, 1), run_of(100, 5)}, {Keep::kAlways});
  auto running = rig.add(user);
  rig.step();
  EXPECT_EQ(rig.run(prompt(2))->cached_tokens, 0);
  EXPECT_EQ(rig.engine.stats().prefix_evictions, 0u);  // the other one is computed without being kept
  rig.finish_all();
  const Result<JobResult> result = running.get();
  expect_right(user, result, attention_limits());
  EXPECT_EQ(result->cached_tokens, 30);
}

TEST(Engine, AJobThatFindsNoRoomDoesNotEmptyTheCache) {
  EngineRig rig(attention_limits(), {.step_ms = 16});
  ASSERT_TRUE(rig.run(prompt(1)).ok());
  auto running = rig.add(chain_job({run_of(300, 5)}));  // 19 of 31 tiles
  rig.step();
  auto waiting = rig.add(chain_job({run_of(200, 6)}));  // 13, and 10 are free; the kept two would not help
  rig.step();
  EXPECT_EQ(rig.engine.stats().cached_prefix_tokens, 30);
  EXPECT_EQ(rig.engine.stats().queued, 1u);
  rig.finish_all();
  EXPECT_TRUE(running.get().ok());
  EXPECT_TRUE(waiting.get().ok());
}

TEST(Engine, AJobThatFitsOnlyAnEmptyMemoryGetsIt) {
  for (DecoderLimits limits : {attention_limits(), recurrent_limits()}) {
    limits.path_rows_max = 512;
    EngineRig rig(limits);
    for (TokenId i = 0; i < 8; i++) ASSERT_TRUE(rig.run(prompt(i)).ok());
    const Job large = chain_job({run_of(300, 1), run_of(100, 1), run_of(80, 2)}, {Keep::kAlways});  // 19 + 7 + 5 tiles
    expect_right(large, rig.run(large), limits);
    EXPECT_EQ(rig.engine.stats().prefix_evictions, 8u);
  }
}

// Three segments to keep and four leaves need 3 + 1 + 4 sequences; seven are there beside the padding's.
TEST(Engine, AJobIsComputedWithoutBeingKeptWhenItsSequencesDoNotSuffice) {
  DecoderLimits limits = attention_limits();
  limits.sequences_max = 8;
  EngineRig rig(limits);
  Job job = chain_job({{1}, {2}, {3}}, {Keep::kAlways, Keep::kAlways, Keep::kAlways});
  job.reads.clear();
  for (TokenId i = 0; i < 4; i++) {
    job.segments.push_back({.parent = 2, .tokens = {i}});
    job.reads.push_back({.segment = 3 + i, .offset = 0, .targets = {1}});
  }
  expect_right(job, rig.run(job), limits);
  EXPECT_EQ(rig.engine.stats().cached_prefixes, 0);
}

TEST(Engine, HandsOverWhenTheOwnerOfASharedPrefixIsCancelled) {
  for (const DecoderLimits& limits : {attention_limits(), recurrent_limits()}) {
    EngineRig rig(limits, {.step_ms = 16});
    const auto cancelled = std::make_shared<std::atomic<bool>>(false);
    Job first = chain_job({run_of(300, 1), run_of(3, 4)}, {Keep::kAlways});
    first.terms.cancelled = cancelled;
    auto owner = rig.add(first);
    rig.step();
    const Job second = chain_job({run_of(300, 1), run_of(5, 6)}, {Keep::kAlways});
    auto waiting = rig.add(second);
    auto third = rig.add(second);
    rig.step();
    EXPECT_EQ(rig.engine.stats().queued, 2u);
    cancelled->store(true);
    rig.finish_all();
    EXPECT_EQ(owner.get().error().code, ErrorCode::kCancelled);
    const Result<JobResult> result = waiting.get();
    expect_right(second, result, limits);
    EXPECT_EQ(result->cached_tokens, 0);
    EXPECT_EQ(third.get()->cached_tokens, 300);
  }
}

}  // namespace
}  // namespace assay::engine
