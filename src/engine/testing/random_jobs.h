#pragma once
// Jobs and what their answers must be, for the tests of the planners, the engine and the scheduler.

#include <algorithm>
#include <random>
#include <vector>

#include "engine/job.h"
#include "engine/testing/fake_decoder.h"

namespace assay::engine::testing {

// The tokens from the root to one row of a segment.
inline Tokens path_to(const Job& job, std::int32_t segment, std::int32_t offset) {
  Tokens path(job.segments[segment].tokens.begin(), job.segments[segment].tokens.begin() + offset + 1);
  for (std::int32_t at = job.segments[segment].parent; at != Segment::kRoot; at = job.segments[at].parent)
    path.insert(path.begin(), job.segments[at].tokens.begin(), job.segments[at].tokens.end());
  return path;
}

// The logits that a read must give, without what the layout does to the last bits.
inline std::vector<float> expected_logits(const Job& job, const Read& read, std::int32_t vocabulary_tokens) {
  const std::vector<float> row = fake_logits(path_to(job, read.segment, read.offset), vocabulary_tokens);
  std::vector<float> logits;
  for (const TokenId target : read.targets) logits.push_back(row[target]);
  return logits;
}

// Segments one below the other; the last row is read.
inline Job chain_job(const std::vector<Tokens>& segments, const std::vector<Keep>& keep = {}) {
  Job job;
  for (std::size_t i = 0; i < segments.size(); i++) {
    job.segments.push_back({.parent = static_cast<std::int32_t>(i) - 1,
                            .tokens = segments[i],
                            .keep = i < keep.size() ? keep[i] : Keep::kNever});
  }
  const auto last = static_cast<std::int32_t>(segments.size()) - 1;
  job.reads = {{.segment = last, .offset = static_cast<std::int32_t>(segments.back().size()) - 1, .targets = {3, 1}}};
  return job;
}

// `count` tokens from `first` on, within the vocabulary.
inline Tokens run_of(std::int32_t count, TokenId first, std::int32_t vocabulary_tokens = 40) {
  Tokens tokens;
  for (std::int32_t i = 0; i < count; i++) tokens.push_back((first + i * 7) % vocabulary_tokens);
  return tokens;
}

struct RandomJobs {
  std::int32_t segments_max = 10;
  std::int32_t rows_max = 40;  // of a segment
  std::int32_t roots = 1;      // 1: all segments hang below the first
  std::int32_t vocabulary_tokens = 40;
  std::vector<std::int32_t> lengths;  // favoured lengths, such as those around a tile's border
};

// A tree of segments of ragged lengths; rows of all those that may not be kept are read.
inline Job random_job(std::mt19937& random, const RandomJobs& of) {
  const auto below = [&random](std::int32_t limit) { return static_cast<std::int32_t>(random() % limit); };
  Job job;
  const std::int32_t segments = 1 + below(of.segments_max);
  for (std::int32_t i = 0; i < segments; i++) {
    const bool root = i == 0 || (of.roots > 1 && below(segments) < of.roots);
    std::int32_t length = 1 + below(of.rows_max);
    if (!of.lengths.empty() && below(2) == 0) length = of.lengths[below(static_cast<std::int32_t>(of.lengths.size()))];
    Segment segment{.parent = root ? Segment::kRoot : below(i), .tokens = {}, .keep = static_cast<Keep>(below(2))};
    for (std::int32_t row = 0; row < length; row++) segment.tokens.push_back(below(of.vocabulary_tokens));
    job.segments.push_back(std::move(segment));
  }
  for (std::int32_t i = 0; i < segments; i++) {
    const auto length = static_cast<std::int32_t>(job.segments[i].tokens.size());
    if (job.segments[i].keep != Keep::kNever) continue;
    for (std::int32_t row = 0; row < length; row++) {
      const bool last = row == length - 1;
      if (below(last ? 2 : 12) == 0 || (last && i == segments - 1))
        job.reads.push_back({.segment = i, .offset = row, .targets = {below(of.vocabulary_tokens), 0}});
    }
  }
  return job;
}

}  // namespace assay::engine::testing
