#include "engine/job_shape.h"

#include <cstddef>

namespace assay::engine {

JobShape::JobShape(const Job& job) : children(job.segments.size()) {
  for (std::size_t i = 0; i < job.segments.size(); i++) {
    const Segment& segment = job.segments[i];
    const bool is_root = segment.parent == Segment::kRoot;
    (is_root ? roots : children[segment.parent]).push_back(static_cast<std::int32_t>(i));
    starts.push_back(is_root ? 0 : starts[segment.parent] + lengths[segment.parent]);
    lengths.push_back(static_cast<std::int32_t>(segment.tokens.size()));
    read_of_row.emplace_back(segment.tokens.size(), -1);
  }
  for (std::size_t i = 0; i < job.reads.size(); i++)
    read_of_row[job.reads[i].segment][job.reads[i].offset] = static_cast<std::int32_t>(i);
}

}  // namespace assay::engine
