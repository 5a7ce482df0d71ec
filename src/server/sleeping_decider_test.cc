#include "server/sleeping_decider.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "server/testing/fake_decider.h"

namespace assay::server {
namespace {

using testing::FakeDecider;

DecisionRequest a_request() {
  return {.state = Value("s"), .questions = {{.id = "q", .text = "why", .options = {{"a", ""}, {"b", ""}}}}};
}

EngineStats stats_of(std::uint64_t steps, std::int32_t cells) {
  EngineStats stats;
  stats.steps = steps;
  stats.jobs = 2 * steps;
  stats.cells = cells;
  stats.running = 1;
  return stats;
}

// A fake that tells when it is destroyed.
class Owned final : public Decider {
 public:
  explicit Owned(std::atomic<int>& alive) : alive_(alive) { alive_++; }
  ~Owned() override { alive_--; }
  Result<DecisionReply> decide(const DecisionRequest& request) override { return fake.decide(request); }
  const ModelReport& report() const override { return fake.report(); }
  std::size_t in_flight() const override { return fake.in_flight(); }
  bool healthy() const override { return fake.healthy(); }
  EngineStats stats() const override { return fake.stats(); }
  void drain(double grace_ms) override { fake.drain(grace_ms); }

  FakeDecider fake;

 private:
  std::atomic<int>& alive_;
};

class SleepingDeciderTest : public ::testing::Test {
 protected:
  std::unique_ptr<Owned> make() { return std::make_unique<Owned>(alive_); }
  std::unique_ptr<SleepingDecider> awake(std::unique_ptr<Decider> inner) {
    return std::make_unique<SleepingDecider>(std::move(inner), SleepHooks{.wake =
                                                                              [this] {
                                                                                on_wake_();
                                                                                return cannot_wake_;
                                                                              },
                                                                          .touch = [this] { touched_++; }});
  }

  std::atomic<int> alive_{0};
  std::atomic<int> woken_{0};
  std::atomic<int> touched_{0};
  std::function<void()> on_wake_ = [this] { woken_++; };
  Status cannot_wake_;
};

TEST_F(SleepingDeciderTest, WhatCannotBeWokenIsTheAnswerUntilItCan) {
  const auto decider = awake(make());
  decider->fall_asleep();
  cannot_wake_ = Error{ErrorCode::kUnavailable, "its file has gone", "model"};
  EXPECT_EQ(decider->decide({}).error().message, "its file has gone");
  EXPECT_TRUE(decider->healthy());
  cannot_wake_ = {};
  on_wake_ = [&] { decider->wake_up(std::unique_ptr<Decider>(make())); };
  EXPECT_TRUE(decider->decide({}).ok());
}

TEST_F(SleepingDeciderTest, AwakeItAnswersAndCountsAsActivity) {
  const auto decider = awake(make());
  EXPECT_TRUE(decider->decide(a_request()).ok());
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(touched_, 1);
  EXPECT_EQ(decider->report().id, "fake");
}

TEST_F(SleepingDeciderTest, AsleepNothingOfTheModelIsLeftAndItIsHealthy) {
  auto inner = make();
  inner->fake.set_stats(stats_of(3, 512));
  const auto decider = awake(std::move(inner));
  decider->fall_asleep();
  EXPECT_EQ(alive_, 0);
  EXPECT_TRUE(decider->healthy());
  EXPECT_EQ(decider->report().id, "fake");
  EXPECT_EQ(decider->stats().steps, 3u);
  EXPECT_EQ(decider->stats().cells, 0);
  EXPECT_EQ(decider->stats().running, 0u);
}

TEST_F(SleepingDeciderTest, CountsGoOnBehindASleep) {
  auto first = make();
  first->fake.set_stats(stats_of(3, 512));
  const auto decider = awake(std::move(first));
  for (int i = 0; i < 2; ++i) {
    decider->fall_asleep();
    auto next = make();
    next->fake.set_stats(stats_of(5, 256));
    decider->wake_up(std::unique_ptr<Decider>(std::move(next)));
  }
  EXPECT_EQ(decider->stats().steps, 3u + 5 + 5);
  EXPECT_EQ(decider->stats().jobs, 2u * (3 + 5 + 5));
  EXPECT_EQ(decider->stats().cells, 256);
}

TEST_F(SleepingDeciderTest, ADecisionWhileAsleepWakesAndIsAnswered) {
  const auto decider = awake(make());
  decider->fall_asleep();
  on_wake_ = [&] {
    woken_++;
    decider->wake_up(std::unique_ptr<Decider>(make()));
  };
  EXPECT_TRUE(decider->decide(a_request()).ok());
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(alive_, 1);
}

TEST_F(SleepingDeciderTest, ItMayFallAsleepBetweenTheWakingAndTheDecision) {
  const auto decider = awake(make());
  on_wake_ = [&] {
    if (woken_++ == 0) {
      decider->fall_asleep();
    } else {
      decider->wake_up(std::unique_ptr<Decider>(make()));
    }
  };
  EXPECT_TRUE(decider->decide(a_request()).ok());
  EXPECT_EQ(woken_, 2);
}

TEST_F(SleepingDeciderTest, FallingAsleepWaitsForTheDecisionThatComputes) {
  std::promise<void> began;
  std::promise<void> go_on;
  std::atomic<bool> answered{false};
  auto inner = make();
  inner->fake.answer_with([&](const DecisionRequest& request) -> Result<DecisionReply> {
    began.set_value();
    go_on.get_future().wait();
    answered.store(true);
    return FakeDecider::equal_chances(request);
  });
  const auto decider = awake(std::move(inner));
  std::thread asks([&] { EXPECT_TRUE(decider->decide(a_request()).ok()); });
  began.get_future().wait();
  EXPECT_EQ(decider->in_flight(), 1u);
  std::promise<void> sleeps;
  std::thread sleeper([&] {
    sleeps.set_value();
    decider->fall_asleep();
    EXPECT_TRUE(answered.load());
  });
  sleeps.get_future().wait();
  EXPECT_TRUE(decider->healthy());  // and nobody who looks is kept waiting
  go_on.set_value();
  sleeper.join();
  asks.join();
  EXPECT_EQ(alive_, 0);
}

TEST_F(SleepingDeciderTest, WhatCannotBeOpenedAgainFailsEachDecisionUntilItCan) {
  const auto decider = awake(make());
  decider->fall_asleep();
  decider->wake_up(Error{ErrorCode::kOutOfMemory, "no room", "model"});
  EXPECT_EQ(decider->decide(a_request()).error().code, ErrorCode::kOutOfMemory);
  EXPECT_FALSE(decider->healthy());
  decider->fall_asleep();
  EXPECT_TRUE(decider->healthy());
  decider->wake_up(std::unique_ptr<Decider>(make()));
  EXPECT_TRUE(decider->decide(a_request()).ok());
}

TEST_F(SleepingDeciderTest, DrainedItTakesNothingAndWakesNothing) {
  const auto decider = awake(make());
  decider->fall_asleep();
  decider->drain(0);
  EXPECT_EQ(decider->decide(a_request()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(woken_, 0);
  EXPECT_FALSE(decider->healthy());
}

TEST_F(SleepingDeciderTest, WhenTheGraceIsOverTheInnerOneIsToldSo) {
  std::promise<void> began;
  std::promise<void> given_up;
  auto inner = make();
  inner->fake.answer_with([&](const DecisionRequest&) -> Result<DecisionReply> {
    began.set_value();
    given_up.get_future().wait();
    return Error{ErrorCode::kUnavailable, "too late", ""};
  });
  inner->fake.drain_with([&](double grace_ms) {
    EXPECT_EQ(grace_ms, 0);
    given_up.set_value();
  });
  const auto decider = awake(std::move(inner));
  std::thread asks([&] { EXPECT_EQ(decider->decide(a_request()).error().code, ErrorCode::kUnavailable); });
  began.get_future().wait();
  decider->drain(0);
  asks.join();
}

TEST_F(SleepingDeciderTest, AWakingThatOutlastsTheGraceIsNotAnsweredButRefused) {
  const auto decider = awake(make());
  decider->fall_asleep();
  std::promise<void> waking;
  std::promise<void> loaded;
  on_wake_ = [&] {
    if (woken_++ > 0) return;
    waking.set_value();
    loaded.get_future().wait();  // and the weights are still not there
  };
  std::thread asks([&] { EXPECT_EQ(decider->decide(a_request()).error().code, ErrorCode::kUnavailable); });
  waking.get_future().wait();
  std::thread stops([&] { decider->drain(0); });
  while (decider->healthy()) std::this_thread::yield();
  loaded.set_value();
  stops.join();
  asks.join();
}

TEST_F(SleepingDeciderTest, ManySleepsUnderManyDecisionsLoseNone) {
  const auto decider = awake(make());
  std::mutex loop;  // as llama.cpp's queue: held while it falls asleep and while it wakes
  bool asleep = false;
  on_wake_ = [&] {
    const std::lock_guard<std::mutex> lock(loop);
    if (asleep) decider->wake_up(std::unique_ptr<Decider>(make()));
    asleep = false;
  };
  std::atomic<bool> stop{false};
  std::thread sleeper([&] {
    while (!stop.load()) {
      const std::lock_guard<std::mutex> lock(loop);
      if (!asleep) decider->fall_asleep();
      asleep = true;
    }
  });
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) EXPECT_TRUE(decider->decide(a_request()).ok());
    });
  }
  for (std::thread& asker : askers) asker.join();
  stop.store(true);
  sleeper.join();
  EXPECT_EQ(decider->in_flight(), 0u);
}

}  // namespace
}  // namespace assay::server
