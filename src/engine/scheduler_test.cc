#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <latch>

#include "engine/testing/fake_decoder.h"

namespace assay::engine {
namespace {

DecoderLimits limits() {
  return {.batch_rows_max = 16,
          .output_rows_max = 8,
          .sequences_max = 8,
          .cells_max = 64,
          .vocabulary_tokens = 40,
          .hidden_size = 5};
}

Job job_of(const Tokens& tokens, std::vector<TokenId> targets = {3, 1}) {
  Job job;
  job.reads = {{.row = job.tree.add_path(tokens), .targets = std::move(targets)}};
  return job;
}

struct Fixture {
  ManualClock clock;
  testing::FakeDecoder* decoder = nullptr;  // owned by the scheduler
  std::unique_ptr<Scheduler> scheduler;

  explicit Fixture(SchedulerOptions options = {}, const std::function<void(testing::FakeDecoder&)>& prepare = {}) {
    auto made = std::make_unique<testing::FakeDecoder>(limits());
    if (prepare) prepare(*made);
    decoder = made.get();
    scheduler = std::make_unique<Scheduler>(std::move(made), clock, options);
  }
};

TEST(Scheduler, AnswersWithTheNumbersOfTheJobsOwnPath) {
  Fixture fixture;
  const Result<JobResult> result = fixture.scheduler->run(job_of({5, 6, 7}));
  ASSERT_TRUE(result.ok());
  const std::vector<float> row = testing::FakeDecoder::logits_of({5, 6, 7}, 40);
  EXPECT_EQ(result->reads[0].logits, (std::vector<float>{row[3], row[1]}));
  EXPECT_EQ(result->computed_rows, 3);
  EXPECT_TRUE(fixture.decoder->empty());
  EXPECT_TRUE(fixture.decoder->faults().empty());
}

TEST(Scheduler, GivesTheHiddenStateOnlyWhenAskedFor) {
  Fixture fixture;
  Job job = job_of({5, 6});
  EXPECT_TRUE(fixture.scheduler->run(job)->reads[0].hidden.empty());
  job.reads[0].hidden_state = true;
  EXPECT_EQ(fixture.scheduler->run(job)->reads[0].hidden, testing::FakeDecoder::logits_of({5, 6}, 5));
}

TEST(Scheduler, RefusesAtTheQueuesLimitAndAnswersWhatItAccepted) {
  std::latch started(1);
  std::latch go_on(1);
  Fixture fixture({.queue_jobs_max = 1}, [&](testing::FakeDecoder& decoder) {
    decoder.on_decode = [&](int decode) -> Status {
      if (decode == 0) {
        started.count_down();
        go_on.wait();
      }
      return {};
    };
  });
  auto first = fixture.scheduler->submit(job_of({1}));
  started.wait();
  auto second = fixture.scheduler->submit(job_of({2}));
  auto third = fixture.scheduler->submit(job_of({3}));
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(fixture.scheduler->in_flight(), 2u);
  go_on.count_down();
  EXPECT_TRUE(first->get().ok());
  EXPECT_TRUE(second->get().ok());
  fixture.scheduler->drain();
  EXPECT_EQ(fixture.scheduler->in_flight(), 0u);
}

TEST(Scheduler, ADecodeErrorFailsItsOwnJobAndTheNextOneIsRight) {
  Fixture fixture({}, [](testing::FakeDecoder& decoder) {
    decoder.on_decode = [](int decode) -> Status {
      if (decode == 1) return Error{ErrorCode::kInternal, "played fault", ""};
      return {};
    };
  });
  const Tokens long_path(20, 2);  // two chunks: the first stays behind when the second fails
  EXPECT_EQ(fixture.scheduler->run(job_of(long_path)).error().message, "played fault");
  EXPECT_TRUE(fixture.decoder->empty());
  const Result<JobResult> result = fixture.scheduler->run(job_of({4}, {0}));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->reads[0].logits[0], testing::FakeDecoder::logits_of({4}, 40)[0]);
  EXPECT_TRUE(fixture.decoder->faults().empty());
}

TEST(Scheduler, IsUnhealthyOnlyAfterSeveralFailuresInARow) {
  Fixture fixture({}, [](testing::FakeDecoder& decoder) {
    decoder.on_decode = [](int decode) -> Status {
      if (decode == 2) return {};
      return Error{ErrorCode::kInternal, "played fault", ""};
    };
  });
  for (int i = 0; i < 2; i++) EXPECT_FALSE(fixture.scheduler->run(job_of({1})).ok());
  EXPECT_TRUE(fixture.scheduler->run(job_of({1})).ok());
  for (int i = 0; i < 2; i++) EXPECT_FALSE(fixture.scheduler->run(job_of({1})).ok());
  EXPECT_TRUE(fixture.scheduler->healthy());
  EXPECT_FALSE(fixture.scheduler->run(job_of({1})).ok());
  EXPECT_FALSE(fixture.scheduler->healthy());
}

TEST(Scheduler, NaNIsAnErrorAndTheEngineGoesOn) {
  Fixture fixture({}, [](testing::FakeDecoder& decoder) {
    decoder.on_logits = [](const Tokens& path, std::vector<float>& logits) {
      if (path.back() == 9) logits[17] = std::nanf("");
    };
  });
  EXPECT_EQ(fixture.scheduler->run(job_of({9})).error().code, ErrorCode::kNonfiniteLogits);
  EXPECT_TRUE(fixture.scheduler->run(job_of({8})).ok());
  EXPECT_TRUE(fixture.decoder->empty());
}

TEST(Scheduler, DrainAnswersWhatWaitsAndRefusesTheRest) {
  Fixture fixture;
  std::vector<std::future<Result<JobResult>>> futures;
  for (TokenId token = 0; token < 10; token++)
    futures.push_back(std::move(fixture.scheduler->submit(job_of({token}))).value());
  fixture.scheduler->drain();
  for (auto& future : futures) EXPECT_TRUE(future.get().ok());
  EXPECT_EQ(fixture.scheduler->submit(job_of({1})).error().code, ErrorCode::kUnavailable);
}

TEST(Scheduler, ManyThreadsEachGetTheirOwnAnswer) {
  Fixture fixture;
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (TokenId client = 0; client < 8; client++) {
    clients.emplace_back([&, client] {
      for (TokenId i = 0; i < 50; i++) {
        const Tokens path = {client, static_cast<TokenId>(i % 40)};
        const Result<JobResult> result = fixture.scheduler->run(job_of(path, {2}));
        if (!result.ok() || result->reads[0].logits[0] != testing::FakeDecoder::logits_of(path, 40)[2]) wrong++;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace assay::engine
