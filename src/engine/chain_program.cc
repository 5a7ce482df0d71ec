#include "engine/chain_program.h"

#include <algorithm>
#include <string>

#include "engine/job_shape.h"
#include "engine/program.h"

namespace assay::engine {
namespace {

constexpr std::int32_t kKeptMax = 4;  // kept segments of one job; each needs a sequence

// A way down: segments one below the other.
struct Chain {
  std::vector<std::int32_t> segments;
  std::int32_t rows = 0;
};

class ChainPlanner {
 public:
  ChainPlanner(const Job& job, const DecoderLimits& limits) : job_(job), limits_(limits), shape_(job) {
    for (const Read& read : job.reads) hidden_states_ = hidden_states_ || read.hidden_state;
    // One sequence is for padding, as with other models; a job can do with two of its own.
    kept_max_ = std::clamp(limits.sequences_max - 3, 0, kKeptMax);
    sequences_max_ = limits.sequences_max - 1 - kept_max_;
    tiles_max_ = limits.cells / tile() - 1;
  }

  Result<ChainProgram> plan() {
    const std::vector<std::int32_t>* next = &shape_.roots;
    bool keeping = true;
    while (next->size() == 1) {
      const std::int32_t segment = next->front();
      keeping =
          keeping && job_.segments[segment].keep != Keep::kNever && std::ssize(program_.kept_segments) < kept_max_;
      if (keeping) {
        add_kept(segment);
      } else {
        add_run({.segments = {segment}, .rows = length(segment)}, 0);
      }
      next = &shape_.children[segment];
    }
    if (Status status = add_below(*next, 0); !status.ok()) return status.error();
    if (tiles_peak_ > tiles_max_) return no_room();
    program_.tiles = std::max(tiles_peak_ - kept_tiles_, 0);
    for (const ChainStep& step : program_.steps) program_.rows += static_cast<std::int32_t>(step.rows.size());
    return std::move(program_);
  }

 private:
  std::int32_t tile() const { return limits_.rules.tile_cells; }
  std::int32_t length(std::int32_t segment) const { return shape_.lengths[segment]; }
  std::int32_t tiles_of(std::int32_t rows) const { return (rows + tile() - 1) / tile(); }

  Error no_room() const {
    return Error{ErrorCode::kTooLong,
                 "The request needs more than the " + std::to_string(limits_.cells) +
                     " places that the context window has for tokens (context_tokens).",
                 "state"};
  }

  // The rows of a segment from virtual cell `cell` on.
  void add_rows(std::int32_t segment, std::int32_t cell, std::int32_t sequence, std::vector<ChainRow>& rows) {
    for (std::int32_t i = 0; i < length(segment); i++) {
      rows.push_back({.token = job_.segments[segment].tokens[i],
                      .position = shape_.starts[segment] + i,
                      .cell = cell + i,
                      .sequence = sequence,
                      .read = shape_.read_of_row[segment][i]});
    }
  }

  // One sequence's rows in decodes as long as they may be.
  void add_steps(const std::vector<ChainRow>& rows, std::int32_t kept) {
    ChainStep step{.kept = kept, .forks = std::move(forks_), .rows = {}, .releases = {}};
    forks_.clear();
    std::int32_t outputs = 0;
    for (const ChainRow& row : rows) {
      const bool full =
          std::ssize(step.rows) == limits_.batch_rows_max || (row.read >= 0 && outputs == limits_.output_rows_max);
      if (full) {
        program_.steps.push_back(std::move(step));
        step = {.kept = kept, .forks = {}, .rows = {}, .releases = {}};
        outputs = 0;
      }
      outputs += row.read >= 0 ? 1 : 0;
      step.rows.push_back(row);
    }
    program_.steps.push_back(std::move(step));
  }

  void add_kept(std::int32_t segment) {
    std::vector<ChainRow> rows;
    add_rows(segment, 0, 0, rows);
    add_steps(rows, static_cast<std::int32_t>(program_.kept_segments.size()));
    program_.kept_segments.push_back(segment);
    program_.kept_ends.push_back(static_cast<std::int32_t>(program_.steps.size()));
    kept_tiles_ += tiles_of(length(segment));
    tiles_peak_ = std::max(tiles_peak_, kept_tiles_ + tiles_);
  }

  // A run of segments at the end of a sequence that stays.
  void add_run(const Chain& chain, std::int32_t sequence) {
    std::vector<ChainRow> rows;
    for (const std::int32_t segment : chain.segments) {
      add_rows(segment, tiles_ * tile(), sequence, rows);
      tiles_ += tiles_of(length(segment));
    }
    tiles_peak_ = std::max(tiles_peak_, kept_tiles_ + tiles_);
    add_steps(rows, -1);
  }

  // The segments from `head` down to the next branching or leaf.
  Chain chain_from(std::int32_t head) const {
    Chain chain;
    std::int32_t at = head;
    while (true) {
      chain.segments.push_back(at);
      chain.rows += length(at);
      if (shape_.children[at].size() != 1) return chain;
      at = shape_.children[at].front();
    }
  }

  Status add_below(const std::vector<std::int32_t>& heads, std::int32_t from) {
    std::vector<Chain> plain;
    std::vector<Chain> branching;
    for (const std::int32_t head : heads) {
      Chain chain = chain_from(head);
      (shape_.children[chain.segments.back()].empty() ? plain : branching).push_back(std::move(chain));
    }
    // Like lengths together: padding costs rows.
    std::stable_sort(plain.begin(), plain.end(), [](const Chain& a, const Chain& b) { return a.rows < b.rows; });
    if (!heads.empty() && from + 1 >= sequences_max_) {
      return Error{ErrorCode::kTooLong,
                   "The questions branch " + std::to_string(from + 1) + " times; the limit is " +
                       std::to_string(sequences_max_ - 1) + " (sequences_max).",
                   "questions"};
    }
    for (std::size_t begin = 0; begin < plain.size();) begin = add_chains(plain, begin, from);
    for (const Chain& chain : branching) {
      const std::int32_t tiles_before = tiles_;
      fork(from, from + 1);
      add_run(chain, from + 1);
      if (Status status = add_below(shape_.children[chain.segments.back()], from + 1); !status.ok()) return status;
      program_.steps.back().releases.push_back(from + 1);
      tiles_ = tiles_before;
    }
    return {};
  }

  void fork(std::int32_t from, std::int32_t to) {
    program_.sequences = std::max(program_.sequences, to + 1);
    forks_.push_back({.from = from, .to = to});
  }

  std::int32_t chain_tiles(const Chain& chain, std::int32_t rows) const {
    std::int32_t tiles = 0;
    for (const std::int32_t segment : chain.segments) tiles += tiles_of(length(segment));
    const std::int32_t last = length(chain.segments.back());
    return tiles - tiles_of(last) + tiles_of(last + rows - chain.rows);
  }

  // Chains from plain[begin] that are worth one pass together; returns the first one that is not among them.
  std::size_t add_chains(const std::vector<Chain>& plain, std::size_t begin, std::int32_t from) {
    std::size_t end = begin + 1;
    const std::int32_t shortest = plain[begin].rows;
    const std::int32_t held = kept_tiles_ + tiles_;
    const auto fits = [&](std::size_t last) {
      std::int32_t tiles = held;
      for (std::size_t i = begin; i <= last; i++) tiles += chain_tiles(plain[i], plain[last].rows);
      return tiles <= tiles_max_;
    };
    const std::ptrdiff_t chains_max = std::min(limits_.batch_rows_max, limits_.output_rows_max);
    while (end < plain.size() && !hidden_states_ && static_cast<std::ptrdiff_t>(end - begin) < chains_max &&
           from + 1 + static_cast<std::int32_t>(end - begin) < sequences_max_ &&
           plain[end].rows <= shortest + shortest / 4 + 4 && fits(end)) {
      end++;
    }
    const std::int32_t rows = plain[end - 1].rows;
    std::vector<std::vector<ChainRow>> columns;
    std::int32_t tiles = tiles_;
    for (std::size_t i = begin; i < end; i++) {
      const auto sequence = from + 1 + static_cast<std::int32_t>(i - begin);
      fork(from, sequence);
      columns.push_back(chain_rows(plain[i], rows, tiles, sequence));
      tiles += chain_tiles(plain[i], rows);
    }
    tiles_peak_ = std::max(tiles_peak_, kept_tiles_ + tiles);
    add_columns(columns);
    for (std::size_t i = begin; i < end; i++)
      program_.steps.back().releases.push_back(from + 1 + static_cast<std::int32_t>(i - begin));
    return end;
  }

  // A chain's rows, padded on the right: what stands behind a row cannot change it.
  std::vector<ChainRow> chain_rows(const Chain& chain, std::int32_t rows, std::int32_t tiles, std::int32_t sequence) {
    std::vector<ChainRow> column;
    for (const std::int32_t segment : chain.segments) {
      add_rows(segment, tiles * tile(), sequence, column);
      tiles += tiles_of(length(segment));
    }
    while (std::ssize(column) < rows) {
      ChainRow pad = column.back();
      pad.position++;
      pad.cell++;
      pad.read = -1;
      column.push_back(pad);
    }
    return column;
  }

  void add_columns(const std::vector<std::vector<ChainRow>>& columns) {
    const auto width = static_cast<std::int32_t>(columns.size());
    const std::int32_t piece = std::max(1, std::min(limits_.batch_rows_max, limits_.output_rows_max) / width);
    const auto rows = static_cast<std::int32_t>(columns.front().size());
    for (std::int32_t begin = 0; begin < rows; begin += piece) {
      ChainStep step{.kept = -1, .forks = std::move(forks_), .rows = {}, .releases = {}};
      forks_.clear();
      for (const std::vector<ChainRow>& column : columns)
        step.rows.insert(step.rows.end(), column.begin() + begin, column.begin() + std::min(rows, begin + piece));
      program_.steps.push_back(std::move(step));
    }
  }

  const Job& job_;
  const DecoderLimits& limits_;
  const JobShape shape_;
  std::vector<ChainFork> forks_;  // before the next step
  bool hidden_states_ = false;    // such rows come back in another order when chains stand side by side
  std::int32_t kept_max_ = 0;
  std::int32_t sequences_max_ = 0;
  std::int32_t tiles_max_ = 0;
  std::int32_t kept_tiles_ = 0;
  std::int32_t tiles_ = 0;  // of the job's own, in use at this point of the program
  std::int32_t tiles_peak_ = 0;
  ChainProgram program_;
};

}  // namespace

Result<ChainProgram> make_chain_program(const Job& job, const DecoderLimits& limits) {
  if (Status status = check_job(job, limits); !status.ok()) return status.error();
  return ChainPlanner(job, limits).plan();
}

}  // namespace assay::engine
