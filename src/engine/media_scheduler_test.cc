#include "engine/media_scheduler.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "engine/testing/fake_media.h"

namespace assay::engine {
namespace {

using testing::FakeMedia;

MediaJob job_of(const std::string& file = "abc", JobTerms terms = {}) {
  MediaJob job;
  job.job.segments = {{.tokens = {1, image_token(0), 2}}};
  job.job.reads = {{.segment = 0, .offset = 2, .targets = {5, 6}}};
  job.job.terms = std::move(terms);
  job.images = {std::make_shared<const std::string>(file)};
  return job;
}

struct Fixture {
  ManualClock clock;
  FakeMedia* media = nullptr;  // owned by the scheduler
  std::unique_ptr<MediaScheduler> scheduler;

  explicit Fixture(const MediaSchedulerOptions& options = {}, const std::function<void(FakeMedia&)>& prepare = {}) {
    auto made = std::make_unique<FakeMedia>();
    if (prepare) prepare(*made);
    media = made.get();
    scheduler = std::make_unique<MediaScheduler>(std::move(made), clock, options);
  }

  std::future<Result<MediaResult>> submit(MediaJob job) {
    Result<std::future<Result<MediaResult>>> future = scheduler->submit(std::move(job));
    EXPECT_TRUE(future.ok());
    return std::move(future).value();
  }
};

// The first piece of work waits until it is let go.
struct Blocker {
  std::latch started{1};
  std::latch go_on{1};
  int pieces = 0;

  std::function<void(FakeMedia&)> prepare() {
    return [this](FakeMedia& media) {
      media.before_each = [this] {
        if (pieces++ > 0) return;
        started.count_down();
        go_on.wait();
      };
    };
  }
};

TEST(MediaScheduler, EightThreadsGetTheAnswersOfOneAlone) {
  Fixture fixture;
  const Result<MediaResult> expected = fixture.submit(job_of("file 3")).get();
  ASSERT_TRUE(expected.ok());
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int client = 0; client < 8; client++) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 10; i++) {
        const Result<MediaResult> result = fixture.submit(job_of("file " + std::to_string(client))).get();
        if (!result.ok()) continue;
        const bool same = result->job.reads[0].logits == expected->job.reads[0].logits;
        if (same == (client == 3)) right++;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right.load(), 80);
  EXPECT_EQ(fixture.scheduler->waiting(), 0U);
  EXPECT_TRUE(fixture.scheduler->healthy());
}

TEST(MediaScheduler, AFullQueueRefusesAtOnce) {
  Blocker blocker;
  Fixture fixture({.queue_jobs_max = 2}, blocker.prepare());
  std::future<Result<MediaResult>> first = fixture.submit(job_of());
  blocker.started.wait();
  std::future<Result<MediaResult>> second = fixture.submit(job_of());
  const auto third = fixture.scheduler->submit(job_of());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(fixture.scheduler->waiting(), 1U);
  EXPECT_TRUE(fixture.scheduler->running());
  blocker.go_on.count_down();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
}

TEST(MediaScheduler, LateAndLeftJobsAreDroppedBeforeTheNextPiece) {
  Blocker blocker;
  Fixture fixture({}, blocker.prepare());
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  std::future<Result<MediaResult>> first = fixture.submit(job_of("a", {.deadline_ns = 5'000'000}));
  blocker.started.wait();
  std::future<Result<MediaResult>> late = fixture.submit(job_of("b", {.deadline_ns = 5'000'000}));
  std::future<Result<MediaResult>> left = fixture.submit(job_of("c", {.cancelled = gone}));
  std::future<Result<MediaResult>> stays = fixture.submit(job_of("d"));
  gone->store(true);
  fixture.clock.advance_ms(6);
  blocker.go_on.count_down();
  EXPECT_EQ(first.get().error().code, ErrorCode::kDeadline);
  EXPECT_EQ(late.get().error().code, ErrorCode::kDeadline);
  EXPECT_EQ(left.get().error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(stays.get().ok());
  // Of the first nothing was computed behind the piece that ran; of the other two nothing at all.
  const std::vector<std::string> expected = {"read 0",   "tokens 1 -> 0", "read 0",       "tokens 1 -> 0",
                                             "encode 0", "image 0 -> 0",  "tokens 1 -> 0"};
  fixture.scheduler->drain(MediaScheduler::kNoLimit);
  EXPECT_EQ(fixture.media->log, expected);
}

TEST(MediaScheduler, DrainAnswersWhatWasAcceptedAndRefusesTheRest) {
  Blocker blocker;
  Fixture fixture({}, blocker.prepare());
  std::future<Result<MediaResult>> first = fixture.submit(job_of());
  blocker.started.wait();
  std::future<Result<MediaResult>> second = fixture.submit(job_of());
  std::thread drainer([&] { fixture.scheduler->drain(MediaScheduler::kNoLimit); });
  blocker.go_on.count_down();
  drainer.join();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_EQ(fixture.scheduler->submit(job_of()).error().code, ErrorCode::kUnavailable);
}

TEST(MediaScheduler, BehindTheGraceTheRestIsToldSo) {
  Blocker blocker;
  Fixture fixture({}, blocker.prepare());
  std::future<Result<MediaResult>> first = fixture.submit(job_of());
  blocker.started.wait();
  std::future<Result<MediaResult>> second = fixture.submit(job_of());
  std::thread drainer([&] { fixture.scheduler->drain(0); });
  while (!fixture.scheduler->giving_up()) std::this_thread::yield();
  blocker.go_on.count_down();
  drainer.join();
  EXPECT_EQ(first.get().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.get().error().code, ErrorCode::kUnavailable);
}

TEST(MediaScheduler, APieceThatIsStuckMakesItUnhealthy) {
  Blocker blocker;
  Fixture fixture({.stuck_seconds = 2}, blocker.prepare());
  std::future<Result<MediaResult>> first = fixture.submit(job_of());
  blocker.started.wait();
  EXPECT_TRUE(fixture.scheduler->healthy());
  fixture.clock.advance_ms(2001);
  EXPECT_FALSE(fixture.scheduler->healthy());
  blocker.go_on.count_down();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(fixture.scheduler->healthy());
}

TEST(MediaScheduler, ThreeFaultsInARowMakeItUnhealthyAndBadImagesDoNot) {
  Fixture bad;
  for (int i = 0; i < 5; i++) EXPECT_EQ(bad.submit(job_of("broken")).get().error().field, "images[0]");
  EXPECT_TRUE(bad.scheduler->healthy());
  Fixture faulty({}, [](FakeMedia& media) { media.fails = true; });
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(faulty.scheduler->healthy());
    EXPECT_EQ(faulty.submit(job_of()).get().error().code, ErrorCode::kInternal);
  }
  EXPECT_FALSE(faulty.scheduler->healthy());
}

TEST(MediaScheduler, HoldsTheGateForEachPieceAndNotBetween) {
  ComputeGate gate;
  std::atomic<int> others{0};
  Fixture fixture({.gate = &gate},
                  [&](FakeMedia& media) { media.before_each = [&] { EXPECT_FALSE(others.load() > 0); }; });
  std::thread other([&] {
    for (int i = 0; i < 50; i++) {
      const ComputeGate::Turn turn(&gate);
      others++;
      others--;
    }
  });
  for (int i = 0; i < 20; i++) EXPECT_TRUE(fixture.submit(job_of()).get().ok());
  other.join();
}

}  // namespace
}  // namespace assay::engine
