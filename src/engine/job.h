#pragma once
// A job: segments of tokens that hang below each other, and what to read at some of their rows. Values only; made by
// service/, answered by the scheduler.
//
// A segment is computed as one piece and lies in cells of its own, so how a job is cut into segments is part of what
// decides its bits: the cuts come from the request's own structure and never from what else is there.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/token_tree.h"

namespace assay::engine {

// Whether a segment is worth keeping for later jobs that begin alike. It never changes a number.
enum class Keep {
  kNever,
  kAlways,
};

struct Segment {
  static constexpr std::int32_t kRoot = -1;

  std::int32_t parent = kRoot;  // stands before its children
  Tokens tokens;                // at least one
  Keep keep = Keep::kNever;     // counts only while the job has not branched yet; nothing is read in a kept segment
};

// What to read after the token of one row.
struct Read {
  std::int32_t segment = 0;
  std::int32_t offset = 0;       // of the row in its segment
  std::vector<TokenId> targets;  // tokens whose logits are wanted; may be empty when only the hidden state is
  bool hidden_state = false;     // the final normalised hidden state of the row as well
  // Of the whole vocabulary: log_sum_exp and argmax. Without it the targets' logits come from rows of the head alone
  // where the decoder can (DecoderLimits::option_head), which is quicker and has other last digits.
  bool vocabulary = true;
};

// The numbers of one Read, in its targets' order. Every number is finite.
struct ReadResult {
  std::vector<float> logits;  // of the targets
  bool vocabulary = false;    // the next two are there: always when asked for
  double log_sum_exp = 0;     // over the full vocabulary: log P(t) = logits[t] - log_sum_exp
  TokenId argmax = 0;         // the full vocabulary's most likely token, the lowest id on ties
  std::vector<float> hidden;  // hidden_size numbers when asked for
};

// When and for whom; nothing here changes a number.
struct JobTerms {
  bool bulk = false;                                   // nobody waits: after those for whom somebody does
  std::int64_t deadline_ns = 0;                        // of the scheduler's clock; 0: none
  std::string client;                                  // clients get equal shares
  std::shared_ptr<const std::atomic<bool>> cancelled;  // may be empty
  // Called on the engine's thread with each read as soon as it is there, before the job's result. After a failed batch
  // reads come again, the same. Must be quick and must not throw. May be empty.
  std::function<void(std::size_t read, const ReadResult& numbers)> on_read;
  // The kept segments that the job begins with are held as long as somebody has this (PrefixNode::holders). May be
  // empty.
  std::shared_ptr<const void> hold;
  bool follows = false;  // belongs to a request whose first job was accepted: the queue's limit is not for it
};

struct Job {
  std::vector<Segment> segments;
  std::vector<Read> reads;  // at most one for a row
  JobTerms terms;
};

struct JobResult {
  std::vector<ReadResult> reads;  // in the job's order
  std::int32_t computed_rows = 0;
  std::int32_t cached_tokens = 0;  // of segments that were there already
  double queue_ms = 0;             // until its first row was computed
  double compute_ms = 0;           // from then on, also while others had their turn
};

}  // namespace assay::engine
