// Everything at once, on work drawn from a printed seed: arrivals, shared prefixes, cancels, deadlines, failures,
// memories down to thrashing. The rig checks the engine's books and the decoder's rules after each step; here each job
// is answered once and right.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/testing/engine_rig.h"

namespace assay::engine {
namespace {

using testing::EngineRig;
using testing::is_ready;
using testing::run_of;

constexpr TokenId kPoison = 39;

struct Asked {
  Job job;
  EngineRig::Future future;
  std::shared_ptr<std::atomic<bool>> cancelled;
  bool poisoned = false;
};

class Simulation {
 public:
  Simulation(unsigned seed, const DecoderLimits& limits, std::int32_t cache_tokens, bool with_store)
      : random_(seed),
        limits_(limits),
        rig_(limits, {.step_ms = 50, .cache_tokens = cache_tokens, .bulk_wait_seconds = 2},
             with_store ? &store_ : nullptr),
        cache_tokens_(cache_tokens) {
    rig_.on_decode = [this](int, std::span<const BatchRow> rows) -> Status {
      if (chance(200)) rig_.clock.advance_ms(3000);  // a slow one
      for (const BatchRow& row : rows) {
        if (row.token == kPoison) return Error{ErrorCode::kInternal, "played fault", ""};
      }
      return {};
    };
    rig_.decoder.on_logits = [](const Tokens& path, std::vector<float>& logits) {
      if (path.back() == kPoison - 1 && path.size() % 3 == 0) logits[3] = std::nanf("");
    };
  }

  void run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); step++) {
      while (!chance(3) && asked_.size() < 60) arrive();
      if (chance(4) && !asked_.empty()) asked_[random_() % asked_.size()].cancelled->store(true);
      if (rig_.engine.has_work()) rig_.step();
      settle();
      if (!rig_.engine.has_work()) expect_idle();
    }
    rig_.finish_all();
    settle();
    EXPECT_TRUE(asked_.empty()) << "jobs without an answer";
    expect_idle();
    EXPECT_EQ(rig_.engine.stats().jobs, answers_);
  }

  std::uint64_t right() const { return right_; }
  std::uint64_t failed() const { return failed_; }

 private:
  bool chance(unsigned one_in) { return random_() % one_in == 0; }

  // Most share one of a few prompts and a few states; some are trees of any shape; some break.
  void arrive() {
    Asked asked;
    asked.job = chance(3) ? testing::random_job(
                                random_, {.segments_max = 8, .rows_max = 30, .roots = 2, .vocabulary_tokens = 38})
                          : decision();
    asked.poisoned = chance(40);
    if (asked.poisoned) asked.job.segments.back().tokens.back() = chance(2) ? kPoison : kPoison - 1;
    asked.cancelled = std::make_shared<std::atomic<bool>>(false);
    asked.job.terms.cancelled = asked.cancelled;
    asked.job.terms.bulk = chance(5);
    if (chance(4)) asked.job.terms.hold = sessions_[random_() % sessions_.size()];
    if (chance(20)) sessions_[random_() % sessions_.size()] = std::make_shared<const int>(0);
    asked.job.terms.client = std::string(1, static_cast<char>('a' + random_() % 3));
    if (chance(6))
      asked.job.terms.deadline_ns = rig_.clock.now_ns() + static_cast<std::int64_t>(random_() % 2'000'000'000);
    if (!make_work(asked.job, limits_).ok()) return;
    asked.future = rig_.add(asked.job);
    asked_.push_back(std::move(asked));
  }

  Job decision() {
    const auto state = static_cast<TokenId>(random_() % 6);
    Job job = testing::chain_job({run_of(9 + state % 2 * 8, 1, 38), run_of(20 + state, state, 38),
                                  run_of(1 + static_cast<std::int32_t>(random_() % 20), 3, 38)},
                                 {Keep::kAlways, chance(2) ? Keep::kAlways : Keep::kNever});
    const auto options = static_cast<std::int32_t>(random_() % 9);
    for (std::int32_t i = 0; i < options; i++) {
      const auto rows = static_cast<std::int32_t>(1 + random_() % 6);
      job.segments.push_back({.parent = 2, .tokens = run_of(rows, 7 + i, 38)});
      job.reads.push_back({.segment = 3 + i, .offset = rows - 1, .targets = {i}});
    }
    return job;
  }

  // Takes the answers that are there.
  void settle() {
    std::erase_if(asked_, [this](Asked& asked) {
      if (!is_ready(asked.future)) return false;
      answers_++;
      const Result<JobResult> result = asked.future.get();
      if (result.ok()) {
        right_++;
        testing::expect_right(asked.job, result, limits_);
        return true;
      }
      failed_++;
      switch (result.error().code) {
        case ErrorCode::kCancelled:
          EXPECT_TRUE(asked.cancelled->load());
          break;
        case ErrorCode::kDeadline:
        case ErrorCode::kTooBusy:
          EXPECT_NE(asked.job.terms.deadline_ns, 0);
          break;
        case ErrorCode::kInternal:
        case ErrorCode::kNonfiniteLogits:
          EXPECT_TRUE(asked.poisoned) << result.error().message;
          break;
        default:
          ADD_FAILURE() << result.error().message;
      }
      return true;
    });
  }

  void expect_idle() {
    const EngineStats stats = rig_.engine.stats();
    EXPECT_EQ(stats.running + stats.queued, 0u);
    EXPECT_LE(stats.cached_prefix_tokens, cache_tokens_);
    if (stats.cached_prefixes == 0) {
      EXPECT_TRUE(rig_.decoder.empty());
      EXPECT_EQ(stats.cells_used, 0);
    }
  }

  std::mt19937 random_;
  const DecoderLimits limits_;
  testing::MemoryStore store_;
  EngineRig rig_;
  const std::int32_t cache_tokens_;
  std::vector<Asked> asked_;
  std::vector<std::shared_ptr<const int>> sessions_ = std::vector<std::shared_ptr<const int>>(3);  // none at first
  std::uint64_t answers_ = 0;
  std::uint64_t right_ = 0;
  std::uint64_t failed_ = 0;
};

void simulate(const DecoderLimits& kind, unsigned seed_from) {
  struct Memory {
    std::int32_t tiles;
    std::int32_t sequences;
    std::int32_t cache_tokens;
  };
  std::uint64_t right = 0;
  std::uint64_t failed = 0;
  unsigned seed = seed_from;
  for (const Memory& memory :
       {Memory{40, 24, 300}, Memory{40, 24, 0}, Memory{16, 10, 120}, Memory{11, 6, 4096}, Memory{11, 4, 60}}) {
    DecoderLimits limits = kind;
    limits.cells = memory.tiles * limits.rules.tile_cells;
    limits.sequences_max = memory.sequences;
    Simulation simulation(seed, limits, memory.cache_tokens, seed % 2 == 0);
    simulation.run(600);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", " << memory.tiles << " tiles";
    right += simulation.right();
    failed += simulation.failed();
    seed++;
  }
  EXPECT_GT(right, 1000u);
  EXPECT_GT(failed, 100u);
}

TEST(EngineSimulation, AttentionModelsAnswerEachJobOnceAndRight) { simulate(testing::attention_limits(), 20261129); }

TEST(EngineSimulation, WithShortDecodesEachJobIsAnsweredOnceAndRight) {
  simulate(testing::short_limits(), 20261149);
  simulate(testing::any_rows_limits(), 20261159);
}

TEST(EngineSimulation, RecurrentModelsAnswerEachJobOnceAndRight) { simulate(testing::recurrent_limits(), 20261139); }

}  // namespace
}  // namespace assay::engine
