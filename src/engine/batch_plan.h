#pragma once
// From a token tree to decodes: a pure function, no thread, no model.
//
// The trunk (rows before the first branching, always in sequence 0) is decoded first, in chunks. What hangs below it is
// cut into waves of branches; a wave forks sequence 0 once for each leaf, decodes its rows and releases its sequences.
//
//   attention models: a row shared by several leaves carries all their sequence ids and is computed once in its wave
//   recurrent models (`whole_sequences_only`): a row belongs to one sequence; where the tree branches, whole sequences
//   are forked

#include <cstdint>
#include <span>
#include <vector>

#include "assay/error.h"
#include "engine/decoder.h"
#include "engine/job.h"

namespace assay::engine {

struct Fork {
  SequenceId from = 0;
  SequenceId to = 0;
};

// Which read of the job a batch row answers.
struct PlannedRead {
  std::size_t batch_row = 0;
  std::size_t read = 0;
};

// One decode and what surrounds it, in this order: forks, decode, reads, releases.
struct Step {
  std::vector<Fork> forks;
  std::vector<BatchRow> rows;
  std::vector<PlannedRead> reads;
  std::vector<SequenceId> releases;
};

struct Plan {
  std::vector<Step> steps;
  std::int32_t computed_rows = 0;  // rows over all steps
  std::int32_t cells_max = 0;      // most rows held at once
};

// Errors: kTooLong when the job can not fit the decoder's cells (the message has both numbers), kInvalidArgument for an
// empty tree, a read outside it, or two reads of one row.
Result<Plan> plan_job(const Job& job, const DecoderLimits& limits);

}  // namespace assay::engine
