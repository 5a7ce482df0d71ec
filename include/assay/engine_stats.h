#pragma once
// Numbers about the engine, for metrics and for whoever wonders what it does.

#include <cstddef>
#include <cstdint>

namespace assay {

// What the engine is doing and has done; counts only grow.
struct EngineStats {
  // now
  std::size_t queued = 0;   // jobs accepted that hold nothing of the model yet
  std::size_t running = 0;  // jobs partly computed
  std::int32_t cells = 0;   // token places the context has
  std::int32_t cells_used = 0;
  std::int32_t cached_prefixes = 0;
  std::int32_t cached_prefix_tokens = 0;
  double rows_per_second = 0;  // measured over the last steps; 0 before the first
  // since the start
  std::uint64_t steps = 0;         // decodes
  std::uint64_t rows = 0;          // computed rows, without padding
  std::uint64_t padding_rows = 0;  // computed only to keep bits the same
  double step_seconds = 0;
  std::uint64_t jobs = 0;
  std::uint64_t jobs_cancelled = 0;
  std::uint64_t jobs_late = 0;  // deadline passed before or while computing
  std::uint64_t failed_steps = 0;
  std::uint64_t prefix_lookup_tokens = 0;  // tokens of prefixes that could have been cached
  std::uint64_t prefix_hit_tokens = 0;     // of those: that were
  std::uint64_t prefix_evictions = 0;
  std::uint64_t answer_cache_hits = 0;
  std::uint64_t answer_cache_misses = 0;
};

}  // namespace assay
