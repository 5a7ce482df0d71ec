#include "engine/program.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "engine/testing/random_jobs.h"

namespace assay::engine {
namespace {

using testing::chain_job;
using testing::run_of;

// Tiles of eight cells, pages of two: small enough to count by hand.
DecoderLimits small_limits() {
  return {.batch_rows_max = 16,
          .output_rows_max = 8,
          .sequences_max = 12,
          .cells = 80,
          .path_rows_max = 60,
          .vocabulary_tokens = 40,
          .rules = {.tile_cells = 8, .page_cells = 2, .rows_min = 4, .rows_multiple = 2}};
}

std::vector<std::int32_t> cells_of(const Program& program, const ProgramPart& part) {
  std::vector<std::int32_t> cells;
  for (std::int32_t i = part.begin; i < part.end; i++) cells.push_back(program.rows[i].cell);
  return cells;
}

// Letters: instructions, a state, a question; the answer is read at the last row. Nothing branches.
//
//   instructions  rows 0..8   positions 0..8    two tiles (nine rows, eight cells a tile)
//   state         rows 9..11  positions 9..11   one tile
//   question      rows 12..13 positions 12..13  one tile
TEST(Program, OfLettersIsATrunkWithEachSegmentInItsOwnTiles) {
  const Job job = chain_job({run_of(9, 1), run_of(3, 2), run_of(2, 3)}, {Keep::kAlways, Keep::kAlways});
  const Result<Program> program = make_program(job, small_limits());
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_TRUE(program->waves.empty());
  EXPECT_EQ(program->leaves_max(), 0);
  EXPECT_EQ(program->keepable, 2);
  ASSERT_EQ(program->trunk.size(), 3u);
  EXPECT_EQ(program->trunk[0].tiles, 2);
  EXPECT_EQ(program->trunk[1].tiles, 1);
  EXPECT_EQ(cells_of(*program, program->trunk[1]), (std::vector<std::int32_t>{0, 1, 2}));
  ASSERT_EQ(program->rows.size(), 14u);
  EXPECT_EQ(program->rows[13].position, 13);
  EXPECT_EQ(program->rows[13].read, 0);
  EXPECT_EQ(program->rows[12].read, -1);
}

// Text: the prompt, then options of 3, 1, 5 and 2 tokens. In tiles of four pages of two cells:
//
//   option 0  cells 0..2    pages 0 1        tile 0
//   option 1  cell  4       page  2          tile 0
//   option 2  cells 8..12   pages 4 5 6      tile 1: one page is left of tile 0, it needs three
//   option 3  cells 14..15  page  7          tile 1
TEST(Program, OfTextPacksShortOptionsSeveralToATile) {
  Job job = chain_job({run_of(6, 1)});
  for (const std::int32_t rows : {3, 1, 5, 2}) {
    job.segments.push_back({.parent = 0, .tokens = run_of(rows, 9)});
    job.reads.push_back(
        {.segment = static_cast<std::int32_t>(job.segments.size()) - 1, .offset = rows - 1, .targets = {}});
  }
  const Result<Program> program = make_program(job, small_limits());
  ASSERT_TRUE(program.ok()) << program.error().message;
  ASSERT_EQ(program->trunk.size(), 1u);
  ASSERT_EQ(program->waves.size(), 1u);
  EXPECT_EQ(cells_of(*program, program->waves[0]), (std::vector<std::int32_t>{0, 1, 2, 4, 8, 9, 10, 11, 12, 14, 15}));
  EXPECT_EQ(program->waves[0].tiles, 2);
  EXPECT_EQ(program->waves[0].leaves, 4);
  EXPECT_EQ(program->leaf_sets[0], (std::vector<std::int32_t>{0, 1, 2, 3}));  // the prompt is everybody's
  EXPECT_EQ(program->leaf_sets[program->rows[6 + 3].leaves], (std::vector<std::int32_t>{1}));
}

// Decodes have at least four rows; short ones two or three.
DecoderLimits short_limits() {
  DecoderLimits limits = small_limits();
  limits.rules.rows_multiple = 1;
  limits.rules.outputs_min = 1;
  limits.rules.outputs_multiple = 1;
  limits.rules.short_decodes = true;
  return limits;
}

// By segment: whether its rows are computed in short decodes; all of a segment's are, or none.
std::vector<bool> short_segments(const Job& job, const DecoderLimits& limits) {
  const Result<Program> program = make_program(job, limits);
  EXPECT_TRUE(program.ok());
  std::vector<bool> is_short;
  std::size_t row = 0;
  for (const Segment& segment : job.segments) {  // here they come in the job's own order
    is_short.push_back(program->rows[row].is_short);
    for (const TokenId token : segment.tokens) {
      EXPECT_EQ(program->rows[row].token, token);
      EXPECT_EQ(program->rows[row].is_short, is_short.back());
      row++;
    }
  }
  EXPECT_EQ(row, program->rows.size());
  return is_short;
}

TEST(Program, SegmentsWithFewerRowsThanADecodeGoIntoShortDecodes) {
  const Job job = chain_job({run_of(9, 1), run_of(3, 2), run_of(4, 3), run_of(1, 4)}, {Keep::kAlways, Keep::kAlways});
  EXPECT_EQ(short_segments(job, short_limits()), (std::vector<bool>{false, true, false, true}));
}

// A prompt, a kept segment of two rows, then options whose rows add up.
Job job_with_options(std::int32_t options, std::int32_t rows_of_last) {
  Job job = chain_job({run_of(5, 1), run_of(2, 2)}, {Keep::kAlways, Keep::kAlways});
  job.reads.clear();
  for (std::int32_t i = 0; i < options; i++)
    job.segments.push_back({.parent = 1, .tokens = run_of(i + 1 < options ? 3 : rows_of_last, i)});
  return job;
}

TEST(Program, OwnSegmentsThatFillThreeDecodesTogetherGoIntoFullOnes) {
  EXPECT_EQ(short_segments(job_with_options(4, 2), short_limits()),  // eleven rows
            (std::vector<bool>{false, true, true, true, true, true}));
  EXPECT_EQ(short_segments(job_with_options(4, 3), short_limits()),  // twelve: three decodes of four
            (std::vector<bool>{false, true, false, false, false, false}));
  // Rows in long segments of its own fill none of them.
  Job job = job_with_options(4, 2);
  job.segments.push_back({.parent = 1, .tokens = run_of(6, 9)});
  EXPECT_EQ(short_segments(job, short_limits()), (std::vector<bool>{false, true, true, true, true, true, false}));
}

// Others stand on it too, so what this job has besides does not count; nor do its rows count for the rest.
TEST(Program, AKeptSegmentsWayIsByItsOwnLengthAlone) {
  for (const std::int32_t options : {1, 4, 6}) {
    Job job = job_with_options(options, 3);
    EXPECT_TRUE(short_segments(job, short_limits())[1]);
    job.segments[1].keep = Keep::kNever;
    EXPECT_EQ(short_segments(job, short_limits())[1], options == 1);
  }
  Job job = chain_job({run_of(3, 1), run_of(3, 2), run_of(3, 3), run_of(3, 4)},
                      {Keep::kAlways, Keep::kAlways, Keep::kAlways});
  EXPECT_EQ(short_segments(job, short_limits()), (std::vector<bool>{true, true, true, true}));
  job.segments[1].keep = Keep::kNever;  // behind it nothing can be kept, but that is the job's own doing
  EXPECT_TRUE(short_segments(job, short_limits())[2]);
}

TEST(Program, WithoutShortDecodesAllGoIntoFullOnes) {
  DecoderLimits off = short_limits();
  off.rules.short_decodes = false;
  EXPECT_EQ(short_segments(job_with_options(1, 1), off), (std::vector<bool>{false, false, false}));
  DecoderLimits too_few = short_limits();  // the rows that have to be read do not fit
  too_few.rules.outputs_min = 4;
  EXPECT_EQ(too_few.rules.short_rows_max(), 0);
  EXPECT_EQ(short_segments(job_with_options(1, 1), too_few), (std::vector<bool>{false, false, false}));
}

TEST(Program, ShortDecodesHaveTwoRowsUpToTheLastWholeGroupBelowAFullOne) {
  BitRules rules = {.rows_multiple = 1, .outputs_min = 2, .outputs_multiple = 1, .short_decodes = true};
  EXPECT_EQ(rules.short_rows_max(), 63);
  rules = {.short_decodes = true};
  EXPECT_EQ(rules.short_rows_max(), 32);
  rules.rows_multiple = 64;
  EXPECT_EQ(rules.short_rows_max(), 0);
  EXPECT_EQ(BitRules().short_rows_max(), 0);
}

TEST(Program, NeedsWavesWhenThereAreMoreLeavesThanSequences) {
  Job job = chain_job({run_of(4, 1)});
  for (TokenId option = 0; option < 14; option++) job.segments.push_back({.parent = 0, .tokens = {option}});
  const Result<Program> program = make_program(job, small_limits());  // half of twelve sequences
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(program->waves.size(), 3u);
  EXPECT_EQ(program->waves[0].leaves, 6);
  EXPECT_EQ(program->waves[2].leaves, 2);
  EXPECT_EQ(program->rows.size(), 4u + 14u);
}

TEST(Program, TellsBothNumbersWhenAPathIsTooLong) {
  const Result<Program> program = make_program(chain_job({run_of(61, 1)}), small_limits());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::kTooLong);
  EXPECT_NE(program.error().message.find("61"), std::string::npos);
  EXPECT_NE(program.error().message.find("60"), std::string::npos);
}

TEST(Program, TellsBothNumbersWhenThePiecesDoNotFitTheCells) {
  std::vector<Tokens> pieces(10, run_of(2, 1));  // ten tiles, and nine are there beside the padding's
  const Result<Program> program = make_program(chain_job(pieces), small_limits());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::kTooLong);
  EXPECT_NE(program.error().message.find("20"), std::string::npos);
  EXPECT_NE(program.error().message.find("80"), std::string::npos);
  pieces.pop_back();
  EXPECT_TRUE(make_program(chain_job(pieces), small_limits()).ok());
}

TEST(Program, RefusesWhatADecoderWouldAbortOn) {
  const auto refused = [](const Job& job) {
    const Result<Program> program = make_program(job, small_limits());
    return !program.ok() && program.error().code == ErrorCode::kInvalidArgument;
  };
  const Job good = chain_job({run_of(3, 1), run_of(2, 5)});
  EXPECT_FALSE(refused(good));
  EXPECT_TRUE(refused(Job{}));
  const auto with = [&good](const auto& change) {
    Job job = good;
    change(job);
    return job;
  };
  EXPECT_TRUE(refused(with([](Job& job) { job.segments[1].tokens.clear(); })));
  EXPECT_TRUE(refused(with([](Job& job) { job.segments[0].parent = 1; })));
  EXPECT_TRUE(refused(with([](Job& job) { job.segments[1].parent = -2; })));
  EXPECT_TRUE(refused(with([](Job& job) { job.segments[1].tokens[0] = 40; })));
  EXPECT_TRUE(refused(with([](Job& job) { job.segments[1].tokens[0] = -1; })));
  EXPECT_TRUE(refused(with([](Job& job) { job.reads[0].targets = {40}; })));
  EXPECT_TRUE(refused(with([](Job& job) { job.reads[0].segment = 2; })));
  EXPECT_TRUE(refused(with([](Job& job) { job.reads[0].offset = 2; })));
  EXPECT_TRUE(refused(with([](Job& job) { job.reads.push_back(job.reads[0]); })));
  // A kept segment may be there already, and then its rows are not computed.
  EXPECT_TRUE(refused(with([](Job& job) { job.segments[1].keep = Keep::kAlways; })));
}

// Follows one leaf of one wave through the program: the rows that its sequence gets, in order.
std::vector<const ProgramRow*> rows_of_leaf(const Program& program, std::int32_t wave, std::int32_t leaf) {
  std::vector<const ProgramRow*> rows;
  for (const ProgramPart& part : program.trunk) {
    for (std::int32_t i = part.begin; i < part.end; i++) rows.push_back(&program.rows[i]);
  }
  if (wave < 0) return rows;
  const ProgramPart& part = program.waves[wave];
  for (std::int32_t i = part.begin; i < part.end; i++) {
    const std::vector<std::int32_t>& leaves = program.leaf_sets[program.rows[i].leaves];
    if (std::find(leaves.begin(), leaves.end(), leaf) != leaves.end()) rows.push_back(&program.rows[i]);
  }
  return rows;
}

// All paths from a root to a leaf, as tokens.
std::multiset<Tokens> leaf_paths(const Job& job) {
  std::vector<bool> has_child(job.segments.size(), false);
  for (const Segment& segment : job.segments) {
    if (segment.parent != Segment::kRoot) has_child[segment.parent] = true;
  }
  std::multiset<Tokens> paths;
  for (std::size_t i = 0; i < job.segments.size(); i++) {
    const auto segment = static_cast<std::int32_t>(i);
    if (!has_child[i])
      paths.insert(testing::path_to(job, segment, static_cast<std::int32_t>(job.segments[i].tokens.size()) - 1));
  }
  return paths;
}

void expect_places(const Program& program, const ProgramPart& part, const BitRules& rules) {
  std::set<std::int32_t> cells;
  std::map<std::int32_t, std::set<std::int32_t>> leaves_of_tile;
  for (std::int32_t i = part.begin; i < part.end; i++) {
    const ProgramRow& row = program.rows[i];
    EXPECT_TRUE(cells.insert(row.cell).second) << "two rows in one cell";
    EXPECT_GE(row.cell, 0);
    EXPECT_LT(row.cell, part.tiles * rules.tile_cells);
    leaves_of_tile[row.cell / rules.tile_cells].insert(row.leaves);
  }
  EXPECT_EQ(static_cast<std::int32_t>(leaves_of_tile.size()), part.tiles) << "a tile that nobody uses";
  // Two segments share a tile only if each belongs to one leaf and not to the same one.
  for (const auto& [tile, sets] : leaves_of_tile) {
    if (sets.size() == 1) continue;
    std::set<std::int32_t> leaves;
    for (const std::int32_t set : sets) {
      ASSERT_EQ(program.leaf_sets[set].size(), 1u) << "an inner segment shares a tile";
      EXPECT_TRUE(leaves.insert(program.leaf_sets[set].front()).second) << "a path shares a tile with itself";
    }
  }
}

void expect_invariants(const Job& job, const Program& program, const DecoderLimits& limits) {
  std::vector<int> answered(job.reads.size(), 0);
  for (const ProgramRow& row : program.rows) {
    if (row.read >= 0) answered[row.read]++;
  }
  for (const int times : answered) EXPECT_EQ(times, 1);
  std::int32_t tiles = 0;
  for (const ProgramPart& part : program.trunk) {
    expect_places(program, part, limits.rules);
    tiles += part.tiles;
  }
  std::multiset<Tokens> paths;
  std::vector<std::vector<const ProgramRow*>> ways;
  for (std::size_t wave = 0; wave < program.waves.size(); wave++) {
    expect_places(program, program.waves[wave], limits.rules);
    EXPECT_LE(program.waves[wave].leaves + 2, limits.sequences_max);
    for (std::int32_t leaf = 0; leaf < program.waves[wave].leaves; leaf++)
      ways.push_back(rows_of_leaf(program, static_cast<std::int32_t>(wave), leaf));
  }
  EXPECT_LE(tiles + program.wave_tiles_max() + 1, limits.cells / limits.rules.tile_cells);
  if (program.waves.empty()) ways.push_back(rows_of_leaf(program, -1, 0));
  std::set<std::int32_t> part_begins = {program.trunk.empty() ? 0 : program.trunk.back().end};
  for (const ProgramPart& part : program.trunk) part_begins.insert(part.begin);
  for (const std::vector<const ProgramRow*>& way : ways) {
    Tokens path;
    for (std::size_t i = 0; i < way.size(); i++) {
      EXPECT_EQ(way[i]->position, static_cast<std::int32_t>(i));
      if (!part_begins.contains(static_cast<std::int32_t>(i))) {
        EXPECT_GT(way[i]->cell, way[i - 1]->cell) << "a row below its path";
      }
      if (way[i]->read >= 0) {
        const Read& read = job.reads[way[i]->read];
        path.push_back(way[i]->token);
        EXPECT_EQ(path, testing::path_to(job, read.segment, read.offset)) << "a read behind other rows";
        path.pop_back();
      }
      path.push_back(way[i]->token);
    }
    paths.insert(path);
  }
  EXPECT_EQ(paths, leaf_paths(job));
}

// What must fit: the trunk and, for each leaf, the rest of its path, each segment in tiles of its own.
bool fits(const Job& job, const DecoderLimits& limits) {
  const auto tiles = [&](std::int32_t segment) {
    return (static_cast<std::int32_t>(job.segments[segment].tokens.size()) + limits.rules.tile_cells - 1) /
           limits.rules.tile_cells;
  };
  std::vector<int> children(job.segments.size(), 0);
  int roots = 0;
  for (const Segment& segment : job.segments) (segment.parent == Segment::kRoot ? roots : children[segment.parent])++;
  for (std::size_t i = 0; i < job.segments.size(); i++) {
    if (children[i] > 0) continue;
    std::int32_t needed = 0;
    std::size_t rows = 0;
    for (auto at = static_cast<std::int32_t>(i); at != Segment::kRoot; at = job.segments[at].parent) {
      needed += tiles(at);
      rows += job.segments[at].tokens.size();
    }
    const bool branched = roots > 1 || std::any_of(children.begin(), children.end(), [](int n) { return n > 1; });
    if (static_cast<std::int32_t>(rows) > limits.path_rows_max) return false;
    if (needed > limits.cells / limits.rules.tile_cells - 1) return false;
    if (branched && limits.sequences_max < 3) return false;
  }
  return true;
}

TEST(Program, KeepsItsInvariantsOnRandomJobs) {
  constexpr unsigned kSeed = 20261129;
  std::mt19937 random(kSeed);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 3000; round++) {
    DecoderLimits limits = small_limits();
    limits.sequences_max = 2 + static_cast<int>(random() % 12);
    limits.cells = 16 + 8 * static_cast<int>(random() % 20);
    limits.path_rows_max = 20 + static_cast<int>(random() % 80);
    const Job job = testing::random_job(random, {.segments_max = 1 + static_cast<int>(random() % 30),
                                                 .rows_max = 20,
                                                 .roots = 1 + static_cast<int>(random() % 3),
                                                 .lengths = {1, 2, 3, 7, 8, 9, 15, 16, 17}});
    const Result<Program> program = make_program(job, limits);
    EXPECT_EQ(program.ok(), fits(job, limits)) << (program.ok() ? "" : program.error().message);
    if (program.ok()) {
      accepted++;
      expect_invariants(job, *program, limits);
    } else {
      refused++;
      EXPECT_EQ(program.error().code, ErrorCode::kTooLong);
    }
    if (HasFailure()) FAIL() << "round " << round << " of seed " << kSeed;
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace assay::engine
