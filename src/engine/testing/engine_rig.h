#pragma once
// An engine on a fake decoder whose decodes take time on a manual clock, for tests that drive it step by step. After
// each step the engine's books and the decoder's rules are checked.

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/testing/fake_decoder.h"
#include "engine/testing/random_jobs.h"

namespace assay::engine::testing {

// Tiles of 16 cells, 31 of them for jobs; batches of 16 to 64 rows.
inline DecoderLimits attention_limits() {
  return {.batch_rows_max = 64,
          .output_rows_max = 32,
          .sequences_max = 16,
          .cells = 512,
          .path_rows_max = 400,
          .vocabulary_tokens = 40,
          .hidden_size = 5,
          .rules = {.tile_cells = 16,
                    .page_cells = 4,
                    .rows_min = 16,
                    .rows_multiple = 4,
                    .outputs_min = 8,
                    .outputs_multiple = 4}};
}

// The same with short decodes of 8 or 12 rows.
inline DecoderLimits short_limits() {
  DecoderLimits limits = attention_limits();
  limits.rules.short_decodes = true;
  return limits;
}

// Short decodes of 2 to 15 rows, full ones of 16 to 64, any number of them read.
inline DecoderLimits any_rows_limits() {
  DecoderLimits limits = short_limits();
  limits.rules.rows_multiple = 1;
  limits.rules.outputs_min = 1;
  limits.rules.outputs_multiple = 1;
  return limits;
}

inline DecoderLimits recurrent_limits() {
  DecoderLimits limits = attention_limits();
  limits.whole_sequences_only = true;
  return limits;
}

class EngineRig {
 public:
  using Future = std::future<Result<JobResult>>;

  explicit EngineRig(const DecoderLimits& limits, const EngineOptions& options = {}, PrefixStore* store = nullptr)
      : decoder(limits), engine(decoder, clock, options, store) {
    decoder.on_decode = [this](int number, std::span<const BatchRow> rows) -> Status {
      clock.advance_ms(static_cast<double>(rows.size()) / rows_per_second * 1e3);
      batches.push_back(static_cast<std::int32_t>(rows.size()));
      return on_decode ? on_decode(number, rows) : Status{};
    };
  }

  ManualClock clock;
  FakeDecoder decoder;
  Engine engine;
  double rows_per_second = 1000;  // of the decoder
  std::function<Status(int, std::span<const BatchRow>)> on_decode;
  std::vector<std::int32_t> batches;  // rows of each decode, padding included

  // REQUIRES: the job fits.
  Future add(Job job) {
    Result<std::unique_ptr<Work>> work = make_work(std::move(job), decoder.limits());
    EXPECT_TRUE(work.ok()) << (work.ok() ? "" : work.error().message);
    (*work)->accepted_ns = clock.now_ns();
    Future future = (*work)->promise.get_future();
    engine.add(std::move(work).value());
    engine.deliver();
    return future;
  }
  void step() {
    engine.step();
    engine.deliver();
    EXPECT_EQ(engine.broken_invariant(), "");
    if (!decoder.faults().empty()) ADD_FAILURE() << decoder.faults().front();
  }
  void finish_all() {
    for (int steps = 0; engine.has_work(); steps++) {
      if (steps < 100000) {
        step();
      } else {
        ADD_FAILURE() << "jobs that never end";
        engine.abort(Error{ErrorCode::kInternal, "never ended", ""});
        engine.deliver();
      }
    }
  }
  Result<JobResult> run(Job job) {
    Future future = add(std::move(job));
    finish_all();
    return future.get();
  }
};

inline bool is_ready(EngineRig::Future& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

// The numbers of a job's answer are those of its own paths, exactly.
inline void expect_right(const Job& job, const Result<JobResult>& result, const DecoderLimits& limits) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->reads.size(), job.reads.size());
  for (std::size_t i = 0; i < job.reads.size(); i++) {
    EXPECT_EQ(result->reads[i].logits, expected_logits(job, job.reads[i], limits.vocabulary_tokens));
    const Tokens path = path_to(job, job.reads[i].segment, job.reads[i].offset);
    const std::vector<float> hidden =
        job.reads[i].hidden_state ? fake_logits(path, limits.hidden_size) : std::vector<float>{};
    EXPECT_EQ(result->reads[i].hidden, hidden);
  }
}

// Segments in memory: what a PrefixStore would write to files.
class MemoryStore final : public PrefixStore {
 public:
  std::optional<std::string> find(const Tokens& path, std::int32_t from) override {
    finds++;
    const auto at = saved.find({path, from});
    return at == saved.end() ? std::nullopt : std::optional(at->second);
  }
  bool wants(const Tokens& path, std::int32_t from) override { return !saved.contains({path, from}); }
  void put(const Tokens& path, std::int32_t from, std::string bytes) override {
    puts++;
    saved[{path, from}] = std::move(bytes);
  }

  std::map<std::pair<Tokens, std::int32_t>, std::string> saved;
  int finds = 0;
  int puts = 0;
};

}  // namespace assay::engine::testing
