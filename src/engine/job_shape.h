#pragma once
// A job's segments as a tree, and its reads by row: what both planners begin with. Values only.

#include <cstdint>
#include <vector>

#include "engine/job.h"

namespace assay::engine {

struct JobShape {
  // REQUIRES: check_job() has passed.
  explicit JobShape(const Job& job);

  std::vector<std::int32_t> roots;                     // segments without a parent, in the job's order
  std::vector<std::vector<std::int32_t>> children;     // of each segment, in the job's order
  std::vector<std::int32_t> lengths;                   // tokens of each segment
  std::vector<std::int32_t> starts;                    // position of each segment's first token, from the root
  std::vector<std::vector<std::int32_t>> read_of_row;  // for each segment and offset: index into Job::reads, or -1
};

}  // namespace assay::engine
