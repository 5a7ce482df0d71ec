#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "engine/testing/engine_rig.h"

namespace assay::engine {
namespace {

using testing::attention_limits;
using testing::chain_job;
using testing::expect_right;
using testing::FakeDecoder;
using testing::run_of;

struct Fixture {
  ManualClock clock;
  FakeDecoder* decoder = nullptr;  // owned by the scheduler
  std::unique_ptr<Scheduler> scheduler;

  explicit Fixture(const SchedulerOptions& options = {}, const std::function<void(FakeDecoder&)>& prepare = {},
                   const DecoderLimits& limits = attention_limits()) {
    auto made = std::make_unique<FakeDecoder>(limits);
    if (prepare) prepare(*made);
    decoder = made.get();
    scheduler = std::make_unique<Scheduler>(std::move(made), clock, options);
  }
};

Job job_of(TokenId first, std::int32_t rows = 6) { return chain_job({run_of(rows, first)}); }

// A first decode that waits until it is let go.
struct Blocker {
  std::latch started{1};
  std::latch go_on{1};

  std::function<void(FakeDecoder&)> prepare() {
    return [this](FakeDecoder& decoder) {
      decoder.on_decode = [this](int number, std::span<const BatchRow>) -> Status {
        if (number == 0) {
          started.count_down();
          go_on.wait();
        }
        return {};
      };
    };
  }
};

TEST(Scheduler, SixteenThreadsEachGetTheirOwnAnswers) {
  for (const DecoderLimits& limits : {attention_limits(), testing::recurrent_limits()}) {
    Fixture fixture({}, {}, limits);
    std::vector<std::thread> clients;
    std::atomic<int> wrong{0};
    for (TokenId client = 0; client < 16; client++) {
      clients.emplace_back([&, client] {
        for (TokenId i = 0; i < 25; i++) {
          const Job job = chain_job({run_of(20, i % 4), run_of(1 + i, client)}, {Keep::kAlways});
          const Result<JobResult> result = fixture.scheduler->run(job);
          if (!result.ok() || result->reads[0].logits != testing::expected_logits(job, job.reads[0], 40)) wrong++;
        }
      });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(wrong, 0);
    fixture.scheduler->drain(Scheduler::kNoLimit);
    EXPECT_EQ(fixture.scheduler->in_flight(), 0u);
    EXPECT_EQ(fixture.scheduler->stats().jobs, 16u * 25);
    EXPECT_TRUE(fixture.decoder->faults().empty());
  }
}

TEST(Scheduler, RefusesAtTheQueuesLimitAndAnswersWhatItAccepted) {
  Blocker blocker;
  Fixture fixture({.queue_jobs_max = 2}, blocker.prepare());
  auto first = fixture.scheduler->submit(job_of(1));
  blocker.started.wait();
  auto second = fixture.scheduler->submit(job_of(2));
  EXPECT_EQ(fixture.scheduler->in_flight(), 2u);
  const auto third = fixture.scheduler->submit(job_of(3));
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kOverloaded);
  Job more = job_of(4);
  more.terms.follows = true;  // of a request that was accepted
  auto follower = fixture.scheduler->submit(more);
  ASSERT_TRUE(follower.ok());
  blocker.go_on.count_down();
  expect_right(job_of(1), first->get(), attention_limits());
  expect_right(job_of(2), second->get(), attention_limits());
  expect_right(more, follower->get(), attention_limits());
}

TEST(Scheduler, SaysWhenToTryAgainWhenItIsFull) {
  Blocker blocker;
  std::latch second_started{1};
  std::latch second_goes_on{1};
  Fixture* there = nullptr;
  Fixture fixture({.queue_jobs_max = 1}, [&](FakeDecoder& decoder) {
    decoder.on_decode = [&](int number, std::span<const BatchRow> rows) -> Status {
      if (number == 0) blocker.go_on.wait();
      if (number == 1) {
        second_started.count_down();
        second_goes_on.wait();
      }
      there->clock.advance_ms(static_cast<double>(rows.size()) * 100);
      return {};
    };
  });
  there = &fixture;
  auto first = fixture.scheduler->submit(job_of(1, 300));  // many decodes, at ten rows a second
  blocker.go_on.count_down();
  second_started.wait();
  const auto refused = fixture.scheduler->submit(job_of(2));
  ASSERT_FALSE(refused.ok());
  EXPECT_NEAR(refused.error().retry_after_seconds, (300 - 32) / 10.0 / 2, 0.1);
  second_goes_on.count_down();
  EXPECT_TRUE(first->get().ok());
}

// Whoever has an answer has left the queue, and the numbers know of it.
TEST(Scheduler, AnAnswerIsThereOnlyAfterTheNumbersAre) {
  Fixture fixture({.queue_jobs_max = 1});
  for (TokenId i = 0; i < 200; i++) {
    const Result<JobResult> result = fixture.scheduler->run(job_of(i % 40));
    ASSERT_TRUE(result.ok()) << result.error().message;
    ASSERT_EQ(fixture.scheduler->in_flight(), 0u);
    ASSERT_EQ(fixture.scheduler->stats().jobs, static_cast<std::uint64_t>(i) + 1);
  }
}

TEST(Scheduler, RefusesWhatDoesNotFitBeforeItWaits) {
  Fixture fixture;
  EXPECT_EQ(fixture.scheduler->submit(job_of(1, 401)).error().code, ErrorCode::kTooLong);
  EXPECT_EQ(fixture.scheduler->submit(Job{}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(fixture.scheduler->in_flight(), 0u);
}

TEST(Scheduler, DrainAnswersWhatWaitsAndRefusesTheRest) {
  Blocker blocker;
  Fixture fixture({}, blocker.prepare());
  std::vector<std::future<Result<JobResult>>> futures;
  for (TokenId token = 0; token < 10; token++)
    futures.push_back(std::move(fixture.scheduler->submit(job_of(token))).value());
  blocker.started.wait();
  std::thread drain([&] { fixture.scheduler->drain(Scheduler::kNoLimit); });
  blocker.go_on.count_down();
  drain.join();
  for (auto& future : futures) EXPECT_TRUE(future.get().ok());
  EXPECT_EQ(fixture.scheduler->submit(job_of(1)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(fixture.scheduler->in_flight(), 0u);
  fixture.scheduler->drain(0);
}

TEST(Scheduler, DrainWithoutGraceAnswersTheRestWithUnavailable) {
  Blocker blocker;
  Fixture fixture({}, blocker.prepare());
  std::vector<std::future<Result<JobResult>>> futures;
  futures.push_back(std::move(fixture.scheduler->submit(job_of(1, 390))).value());
  blocker.started.wait();
  for (TokenId token = 0; token < 5; token++)
    futures.push_back(std::move(fixture.scheduler->submit(job_of(token))).value());
  std::thread patient([&] { fixture.scheduler->drain(Scheduler::kNoLimit); });
  // A later call shortens the grace. The decode goes on only once it is over.
  std::thread hurried([&] { fixture.scheduler->drain(0); });
  while (!fixture.scheduler->giving_up()) std::this_thread::yield();
  blocker.go_on.count_down();
  patient.join();
  hurried.join();
  for (auto& future : futures) {
    const Result<JobResult> result = future.get();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  }
  EXPECT_EQ(fixture.scheduler->in_flight(), 0u);
}

TEST(Scheduler, DrainWithAGraceThatSufficesAnswersEverything) {
  Fixture fixture;
  std::vector<std::future<Result<JobResult>>> futures;
  for (TokenId token = 0; token < 10; token++)
    futures.push_back(std::move(fixture.scheduler->submit(job_of(token))).value());
  fixture.scheduler->drain(1e300);
  for (auto& future : futures) EXPECT_TRUE(future.get().ok());
}

TEST(Scheduler, IsUnhealthyWhileADecodeIsStuck) {
  Blocker blocker;
  Fixture fixture({.stuck_seconds = 10}, blocker.prepare());
  EXPECT_TRUE(fixture.scheduler->healthy());
  auto future = fixture.scheduler->submit(job_of(1));
  blocker.started.wait();
  fixture.clock.advance_ms(9'000);
  EXPECT_TRUE(fixture.scheduler->healthy());
  fixture.clock.advance_ms(2'000);
  EXPECT_FALSE(fixture.scheduler->healthy());
  blocker.go_on.count_down();
  EXPECT_TRUE(future->get().ok());
  EXPECT_TRUE(fixture.scheduler->healthy());
}

TEST(Scheduler, IsUnhealthyOnlyAfterSeveralFailuresInARow) {
  Fixture fixture({}, [](FakeDecoder& decoder) {
    decoder.on_decode = [](int number, std::span<const BatchRow>) -> Status {
      if (number == 2) return {};
      return Error{ErrorCode::kInternal, "played fault", ""};
    };
  });
  for (int i = 0; i < 2; i++) EXPECT_EQ(fixture.scheduler->run(job_of(1)).error().message, "played fault");
  EXPECT_TRUE(fixture.scheduler->run(job_of(1)).ok());
  for (int i = 0; i < 2; i++) EXPECT_FALSE(fixture.scheduler->run(job_of(1)).ok());
  EXPECT_TRUE(fixture.scheduler->healthy());
  EXPECT_FALSE(fixture.scheduler->run(job_of(1)).ok());
  EXPECT_FALSE(fixture.scheduler->healthy());
}

TEST(Scheduler, TwoBehindOneGateNeverDecodeAtTheSameTime) {
  ComputeGate gate;
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  const auto prepare = [&](FakeDecoder& decoder) {
    decoder.on_decode = [&](int, std::span<const BatchRow>) -> Status {
      if (inside.fetch_add(1) != 0) together++;
      std::this_thread::yield();
      inside--;
      return {};
    };
  };
  SchedulerOptions options;
  options.gate = &gate;
  Fixture first(options, prepare);
  Fixture second(options, prepare);
  std::vector<std::future<Result<JobResult>>> futures;
  for (TokenId i = 0; i < 40; i++) {
    futures.push_back(std::move(first.scheduler->submit(job_of(i, 100))).value());
    futures.push_back(std::move(second.scheduler->submit(job_of(i, 100))).value());
  }
  for (auto& future : futures) EXPECT_TRUE(future.get().ok());
  EXPECT_EQ(together, 0);
}

}  // namespace
}  // namespace assay::engine
