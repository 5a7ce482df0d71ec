#include "engine/chain_program.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/program.h"
#include "engine/testing/random_jobs.h"

namespace assay::engine {
namespace {

using testing::chain_job;
using testing::FakeDecoder;
using testing::run_of;

DecoderLimits recurrent_limits() {
  return {.batch_rows_max = 24,
          .output_rows_max = 16,
          .sequences_max = 12,
          .cells = 400,
          .path_rows_max = 120,
          .vocabulary_tokens = 40,
          .hidden_size = 4,
          .whole_sequences_only = true,
          .rules = {.tile_cells = 8, .page_cells = 8, .rows_min = 1, .rows_multiple = 1}};
}

// Plays a program: kept segments lie in tiles of their own, below the job's; tile 0 is for padding.
class Player {
 public:
  Player(const Job& job, const ChainProgram& program, const DecoderLimits& limits)
      : job_(job), program_(program), limits_(limits), decoder_(limits), answered_(job.reads.size(), 0) {
    const std::int32_t tile = limits.rules.tile_cells;
    own_cells_ = tile;
    for (const std::int32_t segment : program.kept_segments) {
      kept_cells_.push_back(own_cells_);
      own_cells_ += (static_cast<std::int32_t>(job.segments[segment].tokens.size()) + tile - 1) / tile * tile;
    }
    EXPECT_LE(own_cells_ + program.tiles * tile, limits.cells);
    EXPECT_LT(program.sequences + std::ssize(program.kept_segments), limits.sequences_max);
  }

  void play() {
    for (std::size_t i = 0; i < program_.steps.size(); i++) play_step(i);
    for (std::size_t i = 0; i < program_.kept_segments.size(); i++) decoder_.release(kept(static_cast<int>(i)));
    decoder_.release(0);
    EXPECT_TRUE(decoder_.empty()) << "sequences that nobody released";
    EXPECT_TRUE(decoder_.faults().empty()) << decoder_.faults().front();
    for (const int times : answered_) EXPECT_EQ(times, 1);
  }

 private:
  SequenceId kept(std::int32_t index) const { return program_.sequences + index; }

  void play_step(std::size_t index) {
    const ChainStep& step = program_.steps[index];
    const auto kept_count = static_cast<std::int32_t>(program_.kept_segments.size());
    const auto begins = static_cast<std::int32_t>(index);
    if (kept_count > 0 && begins == program_.kept_ends.back()) decoder_.fork(kept(kept_count - 1), 0);
    if (step.kept > 0 && begins == program_.kept_ends[step.kept - 1])
      decoder_.fork(kept(step.kept - 1), kept(step.kept));
    for (const ChainFork& fork : step.forks) decoder_.fork(fork.from, fork.to);
    std::vector<BatchRow> rows;
    for (const ChainRow& row : step.rows) {
      EXPECT_GE(row.cell, 0);
      if (step.kept < 0) {
        EXPECT_LT(row.cell, program_.tiles * limits_.rules.tile_cells);
      }
      rows.push_back({.token = row.token,
                      .position = row.position,
                      .cell = row.cell + (step.kept < 0 ? own_cells_ : kept_cells_[step.kept]),
                      .sequences = {step.kept >= 0 ? kept(step.kept) : row.sequence},
                      .output = row.read >= 0});
    }
    ASSERT_TRUE(decoder_.decode(rows, {}).ok());
    for (std::size_t i = 0; i < step.rows.size(); i++) {
      if (step.rows[i].read < 0) continue;
      answered_[step.rows[i].read]++;
      const Read& read = job_.reads[step.rows[i].read];
      const std::span<const float> logits = decoder_.logits(i);
      EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()),
                testing::fake_logits(testing::path_to(job_, read.segment, read.offset), limits_.vocabulary_tokens));
    }
    for (const std::int32_t sequence : step.releases) decoder_.release(sequence);
  }

  const Job& job_;
  const ChainProgram& program_;
  const DecoderLimits limits_;
  FakeDecoder decoder_;
  std::vector<int> answered_;
  std::vector<Cell> kept_cells_;  // where each begins
  Cell own_cells_ = 0;
};

// A row that repeats a place's token behind it and is not read: only such rows may be added, and only at the end.
void expect_padding_only_behind(const Job& job, const ChainProgram& program) {
  std::map<std::int32_t, std::int32_t> last_of_sequence;
  std::int32_t rows_of_job = 0;
  for (const Segment& segment : job.segments) rows_of_job += static_cast<std::int32_t>(segment.tokens.size());
  EXPECT_GE(program.rows, rows_of_job);
  for (const ChainStep& step : program.steps) {
    for (const ChainFork& fork : step.forks) last_of_sequence.erase(fork.to);
    for (const ChainRow& row : step.rows) {
      if (step.kept >= 0) continue;
      const auto [last, first] = last_of_sequence.try_emplace(row.sequence, row.position);
      if (!first) {
        EXPECT_EQ(row.position, last->second + 1);
      }
      last->second = row.position;
    }
  }
}

// Two options of 6 and 7 rows stand side by side, padded to 7; one of 30 would cost too much padding.
TEST(ChainProgram, PutsChainsOfLikeLengthSideBySide) {
  Job job = chain_job({run_of(5, 1)}, {Keep::kAlways});
  job.reads.clear();
  for (const std::int32_t rows : {6, 30, 7}) job.segments.push_back({.parent = 0, .tokens = run_of(rows, 9)});
  job.reads.push_back({.segment = 1, .offset = 5, .targets = {}});
  const Result<ChainProgram> program = make_chain_program(job, recurrent_limits());
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->kept_segments, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(program->kept_ends, (std::vector<std::int32_t>{1}));
  EXPECT_EQ(program->rows, 5 + 2 * 7 + 30);
  ASSERT_GE(program->steps.size(), 3u);
  EXPECT_EQ(program->steps[0].kept, 0);
  EXPECT_EQ(program->steps[1].rows.size(), 14u);
  EXPECT_EQ(program->steps[1].forks.size(), 2u);
  EXPECT_EQ(program->steps[1].releases.size(), 2u);
}

TEST(ChainProgram, KeepsNoMoreSegmentsThanThereAreSequences) {
  const Job job = chain_job({run_of(4, 1), run_of(4, 2), run_of(4, 3)}, {Keep::kAlways, Keep::kAlways});
  DecoderLimits limits = recurrent_limits();
  EXPECT_EQ(make_chain_program(job, limits)->kept_segments.size(), 2u);
  limits.sequences_max = 4;  // padding, two for the job, one
  EXPECT_EQ(make_chain_program(job, limits)->kept_segments.size(), 1u);
  limits.sequences_max = 2;
  EXPECT_TRUE(make_chain_program(job, limits)->kept_segments.empty());
}

TEST(ChainProgram, HiddenStatesAreReadFromOneChainAtATime) {
  Job job = chain_job({run_of(5, 1)});
  for (int i = 0; i < 3; i++) job.segments.push_back({.parent = 0, .tokens = run_of(4, i)});
  job.reads = {{.segment = 2, .offset = 3, .targets = {}, .hidden_state = true}};
  const Result<ChainProgram> program = make_chain_program(job, recurrent_limits());
  ASSERT_TRUE(program.ok());
  for (const ChainStep& step : program->steps) EXPECT_LE(step.forks.size(), 1u);
}

TEST(ChainProgram, RefusesBranchesDeeperThanItsSequences) {
  Job job = chain_job({run_of(1, 1)});
  std::int32_t parent = 0;
  for (int depth = 0; depth < 12; depth++) {  // each level: a leaf, and a segment that branches again
    job.segments.push_back({.parent = parent, .tokens = {1}});
    job.segments.push_back({.parent = parent, .tokens = {2}});
    parent = static_cast<std::int32_t>(job.segments.size()) - 1;
  }
  job.reads = {{.segment = parent, .offset = 0, .targets = {}}};
  const Result<ChainProgram> program = make_chain_program(job, recurrent_limits());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::kTooLong);
  EXPECT_EQ(program.error().field, "questions");
}

TEST(ChainProgram, GivesEachReadItsOwnLogitsOnRandomJobs) {
  constexpr unsigned kSeed = 20261130;
  std::mt19937 random(kSeed);
  int accepted = 0;
  for (int round = 0; round < 1500; round++) {
    DecoderLimits limits = recurrent_limits();
    limits.sequences_max = 2 + static_cast<int>(random() % 14);
    limits.batch_rows_max = 1 + static_cast<int>(random() % 30);
    limits.output_rows_max = 1 + static_cast<int>(random() % 20);
    limits.cells = 160 + 8 * static_cast<int>(random() % 60);
    const Job job = testing::random_job(random, {.segments_max = 1 + static_cast<int>(random() % 14),
                                                 .rows_max = 20,
                                                 .roots = 1 + static_cast<int>(random() % 2),
                                                 .lengths = {1, 7, 8, 9}});
    const Result<ChainProgram> program = make_chain_program(job, limits);
    if (!program.ok()) {
      EXPECT_EQ(program.error().code, ErrorCode::kTooLong);
    } else {
      accepted++;
      expect_padding_only_behind(job, *program);
      Player(job, *program, limits).play();
    }
    if (HasFailure()) FAIL() << "round " << round << " of seed " << kSeed;
  }
  EXPECT_GT(accepted, 700);
}

}  // namespace
}  // namespace assay::engine
