#include "engine/batch_plan.h"

#include <algorithm>
#include <string>

// Invariants of a plan, checked in batch_plan_test.cc on random trees:
//   - every read of the job is answered by exactly one step;
//   - when a row is decoded, its sequence holds exactly the row's ancestors, in order;
//   - no step has more rows or outputs than the decoder takes, no sequence id is out of range;
//   - every sequence that a plan fills is released, sequence 0 last.

namespace assay::engine {
namespace {

constexpr SequenceId kTrunk = 0;
constexpr std::int32_t kNoRead = -1;

class Planner {
 public:
  Planner(const Job& job, const DecoderLimits& limits)
      : tree_(job.tree), limits_(limits), read_of_row_(job.tree.size(), kNoRead) {
    for (std::size_t i = 0; i < job.reads.size(); i++) {
      read_of_row_[job.reads[i].row] = static_cast<std::int32_t>(i);
      hidden_states_ = hidden_states_ || job.reads[i].hidden_state;
    }
  }

  Plan plan() {
    const std::vector<std::int32_t> trunk = chain_below(TokenTree::kRoot);
    for (const std::int32_t row : trunk) add_row(row, {kTrunk});
    const std::int32_t fork_row = trunk.empty() ? TokenTree::kRoot : trunk.back();
    held_rows_ = static_cast<std::int32_t>(trunk.size());
    plan_.cells_max = held_rows_;
    if (limits_.whole_sequences_only) {
      add_chains(fork_row, kTrunk);
    } else {
      add_shared(fork_row);
    }
    close_step();
    if (plan_.steps.empty()) plan_.steps.emplace_back();
    plan_.steps.back().releases.push_back(kTrunk);
    return std::move(plan_);
  }

  // The longest path of the tree, in rows.
  static std::int32_t depth(const TokenTree& tree) {
    std::int32_t deepest = 0;
    for (const TokenTree::Row& row : tree.rows()) deepest = std::max(deepest, row.position + 1);
    return deepest;
  }

 private:
  // The rows that follow `row` one by one until the tree branches or ends.
  std::vector<std::int32_t> chain_below(std::int32_t row) const {
    std::vector<std::int32_t> chain;
    for (std::vector<std::int32_t> next = tree_.children(row); next.size() == 1; next = tree_.children(next.front())) {
      chain.push_back(next.front());
    }
    return chain;
  }

  void close_step() {
    if (step_.rows.empty() && step_.forks.empty() && step_.releases.empty()) return;
    plan_.computed_rows += static_cast<std::int32_t>(step_.rows.size());
    plan_.steps.push_back(std::move(step_));
    step_ = {};
    outputs_ = 0;
  }

  void add_row(std::int32_t row, std::vector<SequenceId> sequences) {
    const bool output = read_of_row_[row] != kNoRead;
    const bool rows_full = std::ssize(step_.rows) == limits_.batch_rows_max;
    if (rows_full || (output && outputs_ == limits_.output_rows_max)) close_step();
    if (output) {
      step_.reads.push_back({.batch_row = step_.rows.size(), .read = static_cast<std::size_t>(read_of_row_[row])});
      read_of_row_[row] = kNoRead;  // a row that is computed again is not read again
      outputs_++;
    }
    const TokenTree::Row& source = tree_.rows()[row];
    step_.rows.push_back(
        {.token = source.token, .position = source.position, .sequences = std::move(sequences), .output = output});
  }

  // Attention models. Leaves in depth-first order are cut into waves; in a wave each row carries the ids of its leaves.
  void add_shared(std::int32_t fork_row) {
    const std::vector<std::int32_t> order = rows_below(fork_row);
    std::vector<std::int32_t> leaves;
    for (const std::int32_t row : order) {
      if (tree_.children(row).empty()) leaves.push_back(row);
    }
    std::size_t begin = 0;
    while (begin < leaves.size()) begin = add_wave(leaves, begin, fork_row);
  }

  // One wave from leaves[begin]; returns the first leaf it did not take. It takes as many as sequences and cells allow,
  // at least one.
  std::size_t add_wave(const std::vector<std::int32_t>& leaves, std::size_t begin, std::int32_t fork_row) {
    // sequences_of[row]: the leaves of this wave at or below the row; rows in the order in which a leaf first needs
    // them.
    std::vector<std::int32_t> rows;
    std::vector<std::vector<SequenceId>> sequences_of(tree_.size());
    std::size_t end = begin;
    while (end < leaves.size() && static_cast<std::int32_t>(end - begin) + 1 < limits_.sequences_max) {
      std::vector<std::int32_t> fresh;
      for (std::int32_t row = leaves[end]; row != fork_row; row = tree_.rows()[row].parent) {
        if (sequences_of[row].empty()) fresh.push_back(row);
      }
      const std::size_t cells = held_rows_ + rows.size() + fresh.size();
      if (end > begin && cells > static_cast<std::size_t>(limits_.cells_max)) break;
      plan_.cells_max = std::max(plan_.cells_max, static_cast<std::int32_t>(cells));
      rows.insert(rows.end(), fresh.rbegin(), fresh.rend());
      const auto sequence = static_cast<SequenceId>(end - begin + 1);
      for (std::int32_t row = leaves[end]; row != fork_row; row = tree_.rows()[row].parent)
        sequences_of[row].push_back(sequence);
      end++;
    }
    close_step();
    for (std::size_t i = 1; i <= end - begin; i++) fork(kTrunk, static_cast<SequenceId>(i), fork_row);
    for (const std::int32_t row : rows) add_row(row, sequences_of[row]);
    for (std::size_t i = 1; i <= end - begin; i++) step_.releases.push_back(static_cast<SequenceId>(i));
    close_step();
    return end;
  }

  // Recurrent models. Children that are plain chains to a leaf go together into waves; a child that branches again gets
  // a sequence of its own, from which its children fork.
  void add_chains(std::int32_t fork_row, SequenceId sequence) {
    std::vector<std::int32_t> plain;
    std::vector<std::int32_t> branching;
    for (const std::int32_t child : tree_.children(fork_row)) {
      const std::vector<std::int32_t> chain = chain_below(child);
      const std::int32_t last = chain.empty() ? child : chain.back();
      (tree_.children(last).empty() ? plain : branching).push_back(child);
    }
    std::size_t begin = 0;
    while (begin < plain.size()) begin = add_chain_wave(plain, begin, fork_row, sequence);
    for (const std::int32_t child : branching) {
      const SequenceId own = sequence + 1;
      close_step();
      fork(sequence, own, fork_row);
      std::vector<std::int32_t> chain = chain_below(child);
      chain.insert(chain.begin(), child);
      for (const std::int32_t row : chain) add_row(row, {own});
      held_rows_ += static_cast<std::int32_t>(chain.size());
      plan_.cells_max = std::max(plan_.cells_max, held_rows_);
      add_chains(chain.back(), own);
      held_rows_ -= static_cast<std::int32_t>(chain.size());
      close_step();
      plan_.steps.back().releases.push_back(own);
    }
  }

  std::size_t add_chain_wave(const std::vector<std::int32_t>& heads, std::size_t begin, std::int32_t fork_row,
                             SequenceId from) {
    close_step();
    std::size_t end = begin;
    std::size_t cells = held_rows_;
    std::vector<std::vector<std::int32_t>> chains;
    while (end < heads.size() && from + 1 + static_cast<SequenceId>(chains.size()) < limits_.sequences_max) {
      if (hidden_states_ && !chains.empty()) break;
      std::vector<std::int32_t> chain = chain_below(heads[end]);
      chain.insert(chain.begin(), heads[end]);
      if (end > begin && cells + chain.size() > static_cast<std::size_t>(limits_.cells_max)) break;
      cells += chain.size();
      chains.push_back(std::move(chain));
      end++;
    }
    plan_.cells_max = std::max(plan_.cells_max, static_cast<std::int32_t>(cells));
    for (std::size_t i = 0; i < chains.size(); i++) fork(from, from + 1 + static_cast<SequenceId>(i), fork_row);
    for (std::size_t i = 0; i < chains.size(); i++) {
      for (const std::int32_t row : chains[i]) add_row(row, {from + 1 + static_cast<SequenceId>(i)});
    }
    for (std::size_t i = 0; i < chains.size(); i++) step_.releases.push_back(from + 1 + static_cast<SequenceId>(i));
    close_step();
    return end;
  }

  void fork(SequenceId from, SequenceId to, std::int32_t fork_row) {
    if (fork_row != TokenTree::kRoot) step_.forks.push_back({.from = from, .to = to});
  }

  // Depth first, parents before children, children in the order added.
  std::vector<std::int32_t> rows_below(std::int32_t fork_row) const {
    std::vector<std::int32_t> order;
    std::vector<std::int32_t> open = tree_.children(fork_row);
    std::reverse(open.begin(), open.end());
    while (!open.empty()) {
      const std::int32_t row = open.back();
      open.pop_back();
      order.push_back(row);
      std::vector<std::int32_t> next = tree_.children(row);
      open.insert(open.end(), next.rbegin(), next.rend());
    }
    return order;
  }

  const TokenTree& tree_;
  const DecoderLimits& limits_;
  std::vector<std::int32_t> read_of_row_;
  Plan plan_;
  Step step_;
  bool hidden_states_ =
      false;  // llama.cpp reorders the rows of recurrent sequences side by side, so such waves hold one
  std::int32_t outputs_ = 0;
  std::int32_t held_rows_ = 0;  // rows of the sequences from which the current wave forks
};

// The deepest nesting of branchings: how many sequences a recurrent plan holds besides its waves.
std::int32_t branching_depth(const TokenTree& tree) {
  std::vector<std::int32_t> child_count(tree.size() + 1, 0);  // the last one counts the root's
  const auto slot = [&](std::int32_t row) {
    return row == TokenTree::kRoot ? tree.size() : static_cast<std::size_t>(row);
  };
  for (const TokenTree::Row& row : tree.rows()) child_count[slot(row.parent)]++;
  std::vector<std::int32_t> depth(tree.size(), 0);
  std::int32_t deepest = 0;
  for (std::size_t i = 0; i < tree.size(); i++) {
    const std::int32_t parent = tree.rows()[i].parent;
    const bool forked = child_count[slot(parent)] > 1;
    depth[i] = (parent == TokenTree::kRoot ? 0 : depth[parent]) + (forked ? 1 : 0);
    deepest = std::max(deepest, depth[i]);
  }
  return deepest;
}

Status check(const Job& job, const DecoderLimits& limits) {
  const auto rows = static_cast<std::int32_t>(job.tree.size());
  if (rows == 0) return invalid_argument("job", "The job has no tokens.");
  std::vector<bool> seen(job.tree.size(), false);
  for (const Read& read : job.reads) {
    if (read.row < 0 || read.row >= rows) return invalid_argument("job", "A read is outside the job's rows.");
    if (seen[read.row]) return invalid_argument("job", "Two reads name the same row.");
    seen[read.row] = true;
    for (const TokenId target : read.targets) {
      if (target < 0 || target >= limits.vocabulary_tokens)
        return invalid_argument("job", "A target token is outside the vocabulary.");
    }
  }
  for (const TokenTree::Row& row : job.tree.rows()) {
    if (row.token < 0 || row.token >= limits.vocabulary_tokens)
      return invalid_argument("job", "A token is outside the vocabulary.");
  }
  const std::int32_t depth = Planner::depth(job.tree);
  if (depth > limits.cells_max) {
    return Error{ErrorCode::kTooLong,
                 "The prompt has " + std::to_string(depth) + " tokens; the limit is " +
                     std::to_string(limits.cells_max) + " (context_tokens).",
                 "state"};
  }
  if (limits.whole_sequences_only && branching_depth(job.tree) >= limits.sequences_max) {
    return Error{ErrorCode::kTooLong,
                 "The questions branch " + std::to_string(branching_depth(job.tree)) + " times; the limit is " +
                     std::to_string(limits.sequences_max - 1) + " (sequences_max).",
                 "questions"};
  }
  return {};
}

}  // namespace

Result<Plan> plan_job(const Job& job, const DecoderLimits& limits) {
  if (Status status = check(job, limits); !status.ok()) return status.error();
  return Planner(job, limits).plan();
}

}  // namespace assay::engine
