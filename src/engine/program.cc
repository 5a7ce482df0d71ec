#include "engine/program.h"

#include <algorithm>
#include <string>

#include "engine/job_shape.h"

// Invariants, checked in program_test.cc on random jobs:
//   - every read of the job is answered by exactly one row;
//   - a row's virtual cell lies above those of all rows before it on its path within the same part;
//   - two segments share a tile only if both are leaves of one wave.

namespace assay::engine {
namespace {

constexpr std::int32_t kWaveLeavesMax = 128;
constexpr std::int32_t kFullDecodes = 3;  // so many full ones are worth more than short ones: rows are cheaper there

class Planner {
 public:
  Planner(const Job& job, const DecoderLimits& limits) : job_(job), limits_(limits), shape_(job) {
    std::int32_t rows_in_short = 0;
    for (std::size_t i = 0; i < job.segments.size(); i++) {
      const std::int32_t rows = length(static_cast<std::int32_t>(i));
      if (job.segments[i].keep == Keep::kNever && rows < limits.rules.rows_min) rows_in_short += rows;
    }
    can_fill_ = rows_in_short >= kFullDecodes * limits.rules.rows_min;
  }

  Result<Program> plan() {
    const std::vector<std::int32_t>* next = &shape_.roots;
    std::vector<std::int32_t> trunk;
    while (next->size() == 1) {
      trunk.push_back(next->front());
      next = &shape_.children[trunk.back()];
    }
    std::int32_t trunk_tiles = 0;
    bool leading = true;
    for (const std::int32_t segment : trunk) {
      leading = leading && job_.segments[segment].keep != Keep::kNever;
      if (leading) program_.keepable++;
      trunk_tiles += tiles_of(length(segment));
    }
    tiles_left_ = limits_.cells / limits_.rules.tile_cells - 1 - trunk_tiles;  // one tile is for padding
    if (tiles_left_ < 0) return too_long(trunk.back());
    const std::vector<std::int32_t> leaves = leaves_below(*next);
    std::vector<Wave> waves;
    for (std::size_t begin = 0; begin < leaves.size();) {
      Wave wave = next_wave(leaves, begin);
      if (wave.leaves.empty()) return too_long(leaves[begin]);
      begin += wave.leaves.size();
      waves.push_back(std::move(wave));
    }
    std::vector<std::int32_t> first;
    if (!waves.empty()) {
      for (std::size_t i = 0; i < waves.front().leaves.size(); i++) first.push_back(static_cast<std::int32_t>(i));
    }
    program_.leaf_sets.push_back(std::move(first));
    for (const std::int32_t segment : trunk) add_trunk(segment);
    for (const Wave& wave : waves) add_wave(wave);
    return std::move(program_);
  }

 private:
  struct Wave {
    std::vector<std::int32_t> inner;   // parents before children
    std::vector<std::int32_t> leaves;  // in depth-first order
    std::int32_t tiles = 0;
  };

  std::int32_t length(std::int32_t segment) const { return shape_.lengths[segment]; }
  std::int32_t tiles_of(std::int32_t rows) const {
    return (rows + limits_.rules.tile_cells - 1) / limits_.rules.tile_cells;
  }
  std::int32_t pages_of(std::int32_t rows) const {
    return (rows + limits_.rules.page_cells - 1) / limits_.rules.page_cells;
  }
  std::int32_t pages_in_tile() const { return limits_.rules.tile_cells / limits_.rules.page_cells; }
  // By its own length alone where others may share it; else by the job's own segments: never by what else runs.
  bool is_short(std::int32_t segment) const {
    if (limits_.rules.short_rows_max() == 0 || length(segment) >= limits_.rules.rows_min) return false;
    return job_.segments[segment].keep != Keep::kNever || !can_fill_;
  }
  bool is_leaf(std::int32_t segment) const { return shape_.children[segment].empty(); }

  Error too_long(std::int32_t segment) const {
    return Error{ErrorCode::kTooLong,
                 "The prompt and one option have " + std::to_string(shape_.starts[segment] + length(segment)) +
                     " tokens in pieces that need more than the " + std::to_string(limits_.cells) +
                     " places there are in the context window (context_tokens).",
                 "state"};
  }

  std::vector<std::int32_t> leaves_below(const std::vector<std::int32_t>& heads) const {
    std::vector<std::int32_t> leaves;
    std::vector<std::int32_t> open(heads.rbegin(), heads.rend());
    while (!open.empty()) {
      const std::int32_t segment = open.back();
      open.pop_back();
      if (is_leaf(segment)) leaves.push_back(segment);
      open.insert(open.end(), shape_.children[segment].rbegin(), shape_.children[segment].rend());
    }
    return leaves;
  }

  bool in_trunk(std::int32_t segment) const {
    for (std::int32_t at = segment; at != Segment::kRoot; at = job_.segments[at].parent) {
      const std::int32_t parent = job_.segments[at].parent;
      if ((parent == Segment::kRoot ? shape_.roots : shape_.children[parent]).size() != 1) return false;
    }
    return true;
  }

  // From leaves[begin] on, as many as sequences and tiles allow; none when not even the first one fits.
  Wave next_wave(const std::vector<std::int32_t>& leaves, std::size_t begin) {
    Wave wave;
    std::int32_t inner_tiles = 0;
    std::int32_t page = 0;  // the leaves' next free page, from the start of their tiles
    // The trunk and padding have a sequence each; the other half is for those who compute beside this job.
    const std::int32_t leaves_max = std::min({kWaveLeavesMax, limits_.sequences_max / 2, limits_.sequences_max - 2});
    std::vector<bool> seen(job_.segments.size(), false);
    for (std::size_t i = begin; i < leaves.size(); i++) {
      if (static_cast<std::int32_t>(wave.leaves.size()) == leaves_max) break;
      std::vector<std::int32_t> fresh;
      std::int32_t fresh_tiles = 0;
      for (std::int32_t at = job_.segments[leaves[i]].parent; at != Segment::kRoot && !seen[at] && !in_trunk(at);
           at = job_.segments[at].parent) {
        fresh.push_back(at);
        fresh_tiles += tiles_of(length(at));
      }
      const std::int32_t next_page = after_leaf(page, length(leaves[i]));
      const std::int32_t leaf_tiles = (next_page + pages_in_tile() - 1) / pages_in_tile();
      if (inner_tiles + fresh_tiles + leaf_tiles > tiles_left_) break;
      for (const std::int32_t segment : fresh) seen[segment] = true;
      wave.inner.insert(wave.inner.end(), fresh.rbegin(), fresh.rend());
      wave.leaves.push_back(leaves[i]);
      inner_tiles += fresh_tiles;
      page = next_page;
      wave.tiles = inner_tiles + leaf_tiles;
    }
    return wave;
  }

  // Where a leaf of so many rows starts when `page` is the next free one: short ones stay inside one tile, long ones
  // start a tile.
  std::int32_t leaf_page(std::int32_t page, std::int32_t rows) const {
    const std::int32_t in_tile = page % pages_in_tile();
    return in_tile == 0 || in_tile + pages_of(rows) <= pages_in_tile() ? page : page + pages_in_tile() - in_tile;
  }
  std::int32_t after_leaf(std::int32_t page, std::int32_t rows) const { return leaf_page(page, rows) + pages_of(rows); }

  void add_rows(std::int32_t segment, std::int32_t cell, std::int32_t leaves) {
    const Segment& source = job_.segments[segment];
    for (std::int32_t i = 0; i < length(segment); i++) {
      program_.rows.push_back({.token = source.tokens[i],
                               .position = shape_.starts[segment] + i,
                               .cell = cell + i,
                               .leaves = leaves,
                               .read = shape_.read_of_row[segment][i],
                               .is_short = is_short(segment)});
      shape_.read_of_row[segment][i] = -1;  // a row that is computed again in a later wave is not read again
    }
  }

  void add_trunk(std::int32_t segment) {
    const auto begin = static_cast<std::int32_t>(program_.rows.size());
    add_rows(segment, 0, 0);
    program_.trunk.push_back({.begin = begin,
                              .end = static_cast<std::int32_t>(program_.rows.size()),
                              .tiles = tiles_of(length(segment)),
                              .segment = segment});
  }

  void add_wave(const Wave& wave) {
    const auto begin = static_cast<std::int32_t>(program_.rows.size());
    std::vector<std::vector<std::int32_t>> sets(job_.segments.size());
    for (std::size_t i = 0; i < wave.leaves.size(); i++) {
      for (std::int32_t at = wave.leaves[i]; at != Segment::kRoot && !in_trunk(at); at = job_.segments[at].parent)
        sets[at].push_back(static_cast<std::int32_t>(i));
    }
    std::int32_t tile = 0;
    for (const std::int32_t segment : wave.inner) {
      program_.leaf_sets.push_back(std::move(sets[segment]));
      add_rows(segment, tile * limits_.rules.tile_cells, static_cast<std::int32_t>(program_.leaf_sets.size()) - 1);
      tile += tiles_of(length(segment));
    }
    std::int32_t page = 0;
    for (const std::int32_t segment : wave.leaves) {
      page = leaf_page(page, length(segment));
      program_.leaf_sets.push_back(std::move(sets[segment]));
      add_rows(segment, tile * limits_.rules.tile_cells + page * limits_.rules.page_cells,
               static_cast<std::int32_t>(program_.leaf_sets.size()) - 1);
      page += pages_of(length(segment));
    }
    program_.waves.push_back({.begin = begin,
                              .end = static_cast<std::int32_t>(program_.rows.size()),
                              .tiles = wave.tiles,
                              .leaves = static_cast<std::int32_t>(wave.leaves.size())});
  }

  const Job& job_;
  const DecoderLimits& limits_;
  JobShape shape_;  // a read that has been planned is taken out
  std::int32_t tiles_left_ = 0;
  bool can_fill_ = false;  // the short segments that are the job's own fill decodes
  Program program_;
};

Status check_reads(const Job& job, const DecoderLimits& limits) {
  std::vector<std::vector<bool>> seen(job.segments.size());
  for (std::size_t i = 0; i < seen.size(); i++) seen[i].assign(job.segments[i].tokens.size(), false);
  for (const Read& read : job.reads) {
    if (read.segment < 0 || read.segment >= std::ssize(job.segments) || read.offset < 0 ||
        read.offset >= std::ssize(seen[read.segment]))
      return invalid_argument("job", "A read is outside the job's rows.");
    if (seen[read.segment][read.offset]) return invalid_argument("job", "Two reads name the same row.");
    seen[read.segment][read.offset] = true;
    if (job.segments[read.segment].keep != Keep::kNever)
      return invalid_argument("job", "A read is in a segment that may not be computed again.");
    for (const TokenId target : read.targets) {
      if (target < 0 || target >= limits.vocabulary_tokens)
        return invalid_argument("job", "A target token is outside the vocabulary.");
    }
  }
  return {};
}

}  // namespace

Status check_job(const Job& job, const DecoderLimits& limits) {
  if (job.segments.empty()) return invalid_argument("job", "The job has no tokens.");
  std::vector<std::int32_t> ends(job.segments.size());
  for (std::size_t i = 0; i < job.segments.size(); i++) {
    const Segment& segment = job.segments[i];
    if (segment.tokens.empty()) return invalid_argument("job", "A segment has no tokens.");
    if (segment.parent < Segment::kRoot || segment.parent >= static_cast<std::int32_t>(i))
      return invalid_argument("job", "A segment stands before its parent.");
    for (const TokenId token : segment.tokens) {
      if (token < 0 || token >= limits.vocabulary_tokens)
        return invalid_argument("job", "A token is outside the vocabulary.");
    }
    const std::int32_t start = segment.parent == Segment::kRoot ? 0 : ends[segment.parent];
    ends[i] = start + static_cast<std::int32_t>(segment.tokens.size());
    if (ends[i] > limits.path_rows_max) {
      return Error{ErrorCode::kTooLong,
                   "The prompt has " + std::to_string(ends[i]) + " tokens; the context window's limit is " +
                       std::to_string(limits.path_rows_max) + " (context_tokens).",
                   "state"};
    }
  }
  return check_reads(job, limits);
}

std::int32_t Program::leaves_max() const {
  std::int32_t most = 0;
  for (const ProgramPart& wave : waves) most = std::max(most, wave.leaves);
  return most;
}

std::int32_t Program::wave_tiles_max() const {
  std::int32_t most = 0;
  for (const ProgramPart& wave : waves) most = std::max(most, wave.tiles);
  return most;
}

Result<Program> make_program(const Job& job, const DecoderLimits& limits) {
  if (Status status = check_job(job, limits); !status.ok()) return status.error();
  return Planner(job, limits).plan();
}

}  // namespace assay::engine
