// The same bits from the real decoder: alone, beside others, in any order, cold, warm and restored.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/bit_check.h"
#include "engine/testing/tiny_engine.h"

namespace assay::engine {
namespace {

using testing::load;
using testing::load_model;
using testing::PathsJob;
using testing::tokens_from;

// All numbers of a result, to be compared bit for bit.
std::vector<double> numbers_of(const JobResult& result) {
  std::vector<double> numbers;
  for (const ReadResult& read : result.reads) {
    numbers.insert(numbers.end(), read.logits.begin(), read.logits.end());
    numbers.push_back(read.log_sum_exp);
    numbers.push_back(read.argmax);
    numbers.insert(numbers.end(), read.hidden.begin(), read.hidden.end());
  }
  return numbers;
}

std::vector<double> run(Scheduler& scheduler, const Job& job) {
  const Result<JobResult> result = scheduler.run(job);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? numbers_of(*result) : std::vector<double>();
}

// Jobs as requests make them: a head that all share, few states, questions with none to five answers of 1 to 5 tokens.
std::vector<Job> many_jobs() {
  std::vector<Job> jobs;
  for (int i = 0; i < 12; i++) {
    PathsJob made;
    const std::int32_t head = made.add(Segment::kRoot, tokens_from(1, 5), Keep::kAlways);
    const int which = i % 3;
    const std::int32_t state = made.add(head, tokens_from(2 + which, 40 + 90 * which), Keep::kAlways);
    for (int question = 0; question <= i % 2; question++) {
      const std::int32_t words = made.add(state, tokens_from(10 + i + question, 3 + 7 * question), Keep::kAlways);
      const std::int32_t tail = made.add(words, tokens_from(9, 4));
      made.read_end(tail, i % 4 == 0);
      for (int answer = 0; answer < i % 6; answer++)
        made.read_end(made.add(tail, tokens_from(50 + answer, 1 + answer)));
    }
    jobs.push_back(std::move(made.job));
  }
  return jobs;
}

// Under the rules that the check at start finds, as a server would keep to.
class SameBits : public ::testing::TestWithParam<const char*> {
 protected:
  SameBits() {
    const auto model = load_model(GetParam());
    if (model == nullptr) return;
    Result<std::unique_ptr<Decoder>> decoder = model->make_decoder();
    if (!decoder.ok()) return;
    const Result<BitCheck> check = check_bits(**decoder);
    if (check.ok()) check_ = *check;
    SchedulerOptions nothing_kept;
    nothing_kept.engine.cache_tokens = 0;
    const auto loaded = open(nothing_kept);
    if (loaded == nullptr) return;
    for (const Job& job : jobs_) expected_.push_back(run(*loaded->scheduler, job));
  }

  std::unique_ptr<testing::Loaded> open(const SchedulerOptions& options) const {
    return load(GetParam(), {}, options, check_.rules);
  }

  const std::vector<Job> jobs_ = many_jobs();
  BitCheck check_;
  std::vector<std::vector<double>> expected_;  // of each job alone, cold
};

TEST_P(SameBits, TheCheckFindsThem) { EXPECT_TRUE(check_.same) << check_.note; }

TEST_P(SameBits, OfOtherJobsTheyAreOthers) {
  ASSERT_EQ(expected_.size(), jobs_.size());
  EXPECT_NE(expected_[0], expected_[3]);
}

TEST_P(SameBits, ColdAndFromThePrefixCacheInAnyOrder) {
  ASSERT_EQ(expected_.size(), jobs_.size());
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::size_t> order(jobs_.size());
  std::iota(order.begin(), order.end(), 0);
  for (const std::int32_t cache_tokens : {0, 120, 4096}) {
    SchedulerOptions options;
    options.engine.cache_tokens = cache_tokens;
    const auto loaded = open(options);
    ASSERT_NE(loaded, nullptr);
    for (int round = 0; round < 3; round++) {
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order) EXPECT_EQ(run(*loaded->scheduler, jobs_[i]), expected_[i]) << i;
    }
    if (cache_tokens == 4096) {
      EXPECT_GT(loaded->scheduler->stats().prefix_hit_tokens, 0u);
    }
  }
}

TEST_P(SameBits, BesideJobsOfOtherThreads) {
  ASSERT_EQ(expected_.size(), jobs_.size());
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const double step_ms : {1.0, 100.0}) {
    SchedulerOptions options;
    options.engine.step_ms = step_ms;
    options.engine.cache_tokens = 300;
    const auto loaded = open(options);
    ASSERT_NE(loaded, nullptr);
    std::atomic<int> changed{0};
    std::vector<std::thread> clients;
    for (unsigned client = 0; client < 6; client++) {
      clients.emplace_back([&, client] {
        std::mt19937 random(seed + client);
        for (int i = 0; i < 12; i++) {
          const std::size_t which = random() % jobs_.size();
          if (run(*loaded->scheduler, jobs_[which]) != expected_[which]) changed++;
        }
      });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(changed, 0) << "steps of " << step_ms << " ms";
  }
}

TEST_P(SameBits, AfterACancelledJob) {
  ASSERT_EQ(expected_.size(), jobs_.size());
  const auto loaded = open({});
  ASSERT_NE(loaded, nullptr);
  Job unwanted = testing::path_job(tokens_from(90, 900));
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  unwanted.terms.cancelled = cancelled;
  auto future = loaded->scheduler->submit(std::move(unwanted));
  ASSERT_TRUE(future.ok());
  EXPECT_EQ(run(*loaded->scheduler, jobs_[5]), expected_[5]);
  cancelled->store(true);
  EXPECT_EQ(run(*loaded->scheduler, jobs_[11]), expected_[11]);
  const Result<JobResult> ended = future->get();
  EXPECT_TRUE(ended.ok() || ended.error().code == ErrorCode::kCancelled);
}

// What is kept survives in memory.
class MemoryStore final : public PrefixStore {
 public:
  std::optional<std::string> find(const Tokens& path, std::int32_t from) override {
    const auto at = kept_.find({path, from});
    if (at == kept_.end()) return std::nullopt;
    found_++;
    return at->second;
  }
  bool wants(const Tokens& path, std::int32_t from) override { return !kept_.contains({path, from}); }
  void put(const Tokens& path, std::int32_t from, std::string bytes) override {
    kept_[{path, from}] = std::move(bytes);
  }

  std::size_t size() const { return kept_.size(); }
  int found() const { return found_; }
  void cut_short() {
    for (auto& [key, bytes] : kept_) bytes.resize(bytes.size() / 2);
  }

 private:
  std::map<std::pair<Tokens, std::int32_t>, std::string> kept_;
  int found_ = 0;
};

TEST_P(SameBits, FromWhatAnEarlierProcessStored) {
  ASSERT_EQ(expected_.size(), jobs_.size());
  MemoryStore store;
  SchedulerOptions options;
  options.store = &store;
  {
    const auto first = open(options);
    ASSERT_NE(first, nullptr);
    for (std::size_t i = 0; i < jobs_.size(); i++) EXPECT_EQ(run(*first->scheduler, jobs_[i]), expected_[i]) << i;
  }
  ASSERT_GT(store.size(), 0u);
  const auto second = open(options);
  ASSERT_NE(second, nullptr);
  const Result<JobResult> restored = second->scheduler->run(jobs_[2]);
  ASSERT_TRUE(restored.ok());
  EXPECT_GT(restored->cached_tokens, 0);
  EXPECT_GT(store.found(), 0);
  EXPECT_EQ(numbers_of(*restored), expected_[2]);
  for (std::size_t i = jobs_.size(); i-- > 0;) EXPECT_EQ(run(*second->scheduler, jobs_[i]), expected_[i]) << i;
}

TEST_P(SameBits, WhereWhatWasStoredIsDamaged) {
  ASSERT_EQ(expected_.size(), jobs_.size());
  MemoryStore store;
  SchedulerOptions options;
  options.store = &store;
  {
    const auto first = open(options);
    ASSERT_NE(first, nullptr);
    run(*first->scheduler, jobs_[2]);
  }
  store.cut_short();
  const auto second = open(options);
  ASSERT_NE(second, nullptr);
  for (const std::size_t i : {2, 5, 2}) EXPECT_EQ(run(*second->scheduler, jobs_[i]), expected_[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Tiny, SameBits,
                         ::testing::Values("tiny-attention.gguf", "tiny-hybrid.gguf", "tiny-window.gguf",
                                           "tiny-experts.gguf"));

}  // namespace
}  // namespace assay::engine
