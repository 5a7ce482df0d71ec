#pragma once
// From a job to the order in which its rows are computed and the places where they lie: a pure function, no thread, no
// model. Places are virtual tiles of the job's own; the engine maps them to cells (cell_pool.h) when the job starts.
//
//   trunk   the segments before the first branching, each in tiles of its own; the first ones may be kept for others
//   waves   what hangs below the trunk, leaf by leaf in depth-first order, as many leaves at once as fit. A wave's
//           inner segments come first, each in tiles of its own; then its leaves, short ones several to a tile.
//
// A segment with fewer rows than a decode has at least goes into short decodes, where the rules allow them, unless the
// job has so many such rows that they fill decodes of their own.
//
// Bits: a segment never shares a tile with one before it on the same path, and lies above it (BitRules).

#include <cstdint>
#include <vector>

#include "assay/error.h"
#include "engine/decoder.h"
#include "engine/job.h"

namespace assay::engine {

struct ProgramRow {
  TokenId token = 0;
  std::int32_t position = 0;  // from the root
  std::int32_t cell = 0;      // virtual, within the space of its part
  std::int32_t leaves = 0;    // index into Program::leaf_sets
  std::int32_t read = -1;     // index into Job::reads
  bool is_short = false;      // computed in short decodes (BitRules)
};

// Rows that share a space of virtual tiles.
struct ProgramPart {
  std::int32_t begin = 0;  // rows begin .. end
  std::int32_t end = 0;
  std::int32_t tiles = 0;
  std::int32_t leaves = 0;   // waves: sequences needed at once
  std::int32_t segment = 0;  // trunk: the segment
};

struct Program {
  std::vector<ProgramRow> rows;
  std::vector<ProgramPart> trunk;  // one for each trunk segment
  std::vector<ProgramPart> waves;
  std::int32_t keepable = 0;  // of the trunk's first segments: those with Keep other than kNever
  // Which leaves of its wave a row belongs to, numbered from 0; the trunk's rows belong to all of the first wave.
  std::vector<std::vector<std::int32_t>> leaf_sets;

  std::int32_t leaves_max() const;
  std::int32_t wave_tiles_max() const;
};

// Errors: kTooLong when a path is longer than limits.path_rows_max or one leaf alone does not fit the cells (both
// numbers in the message); kInvalidArgument for a job without tokens, an empty segment, a parent that does not stand
// before its child, a read outside its segment, two reads of one row, a token outside the vocabulary.
Result<Program> make_program(const Job& job, const DecoderLimits& limits);

// The checks alone; for other planners.
Status check_job(const Job& job, const DecoderLimits& limits);

}  // namespace assay::engine
