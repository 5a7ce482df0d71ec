#pragma once
// A job: a token tree and what to read at some of its rows. Values only; made by service/, answered by the scheduler.

#include <cstdint>
#include <vector>

#include "engine/token_tree.h"

namespace assay::engine {

// What to read after the token of one row.
struct Read {
  std::int32_t row = 0;          // of the tree
  std::vector<TokenId> targets;  // tokens whose logits are wanted; may be empty when only the hidden state is
  bool hidden_state = false;     // the final normalised hidden state of the row as well
};

struct Job {
  TokenTree tree;
  std::vector<Read> reads;  // at most one for a row
};

// The numbers of one Read, in its targets' order. Every number is finite.
struct ReadResult {
  std::vector<float> logits;  // of the targets
  double log_sum_exp = 0;     // over the full vocabulary: log P(t) = logits[t] - log_sum_exp
  TokenId argmax = 0;         // the full vocabulary's most likely token, the lowest id on ties
  std::vector<float> hidden;  // hidden_size numbers when asked for
};

struct JobResult {
  std::vector<ReadResult> reads;  // in the job's order
  std::int32_t computed_rows = 0;
  double queue_ms = 0;
  double compute_ms = 0;
};

}  // namespace assay::engine
