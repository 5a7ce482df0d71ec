#pragma once
// The program of a job for models with recurrent layers: rows belong to one sequence each and a fork copies a whole
// one. A pure function. Its steps depend on the job alone and are never mixed with other jobs' rows, so the bits do not
// depend on what else runs, whatever the kernels do.
//
//   kept segments   each in a sequence that others may fork later
//   trunk           what follows them up to the first branching, in the job's sequence 0
//   chains          ways to a leaf without branching: forked together, padded on the right to one length (llama.cpp
//                   computes sequences of one length in one pass), several at a time
//   branchings      a child that branches again gets a sequence of its own, from which its children are forked

#include <cstdint>
#include <vector>

#include "assay/error.h"
#include "engine/decoder.h"
#include "engine/job.h"

namespace assay::engine {

struct ChainRow {
  TokenId token = 0;
  std::int32_t position = 0;
  std::int32_t cell = 0;      // virtual: in the kept segment's own space, or in the job's
  std::int32_t sequence = 0;  // of the job's own; kept segments have theirs
  std::int32_t read = -1;     // index into Job::reads
};

struct ChainFork {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

// One decode and what surrounds it, in this order: forks, decode, reads, releases.
struct ChainStep {
  std::int32_t kept = -1;  // rows of this kept segment, or -1
  std::vector<ChainFork> forks;
  std::vector<ChainRow> rows;
  std::vector<std::int32_t> releases;
};

struct ChainProgram {
  std::vector<ChainStep> steps;
  std::vector<std::int32_t> kept_segments;
  std::vector<std::int32_t> kept_ends;  // steps up to and with the last one of that kept segment
  std::int32_t sequences = 1;           // of the job's own; 0 is the trunk's
  std::int32_t tiles = 0;               // of the job's own
  std::int32_t rows = 0;                // padding included
};

// Errors: those of make_program(), and kTooLong when the questions branch deeper than there are sequences.
Result<ChainProgram> make_chain_program(const Job& job, const DecoderLimits& limits);

}  // namespace assay::engine
