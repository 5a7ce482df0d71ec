#include "server/shutdown.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "server/testing/fake_decider.h"

namespace assay::server {
namespace {

constexpr double kLongMs = 3'600'000;

HttpRequest decision() {
  return {.method = "POST",
          .path = "/v1/decide",
          .headers = {{"Content-Type", "application/json"}},
          .body = R"({"decision":{"id":"t1","state":"s","question":"q","options":[{"id":"a"},{"id":"b"}]}})"};
}

// One request in an HTTP thread of its own, which waits in decide() until `release` says what becomes of it.
class ShutdownTest : public ::testing::Test {
 protected:
  ShutdownTest() {
    decider_.answer_with([this](const DecisionRequest& request) -> Result<DecisionReply> {
      accepted_.set_value();
      if (released_.get()) return testing::FakeDecider::equal_chances(request);
      return Error{ErrorCode::kUnavailable, "the server stopped before the answer was there", ""};
    });
    in_flight_ = std::async(std::launch::async, [this] { return routes_.handle(decision()); });
    accepted_.get_future().wait();
  }

  testing::FakeDecider decider_;
  Metrics metrics_;
  ManualClock clock_;
  Routes routes_{decider_, metrics_, clock_, {.wire = {}, .request_id_seed = 1}};
  std::promise<void> accepted_;
  std::promise<bool> release_;
  std::future<bool> released_ = release_.get_future();
  std::future<HttpReply> in_flight_;
};

TEST_F(ShutdownTest, AnswersWhatWasAcceptedAndRefusesTheRestWhileItDrains) {
  double grace_ms = 0;
  int refused = 0;
  int health = 0;
  HttpReply last;
  bool listening = true;
  decider_.drain_with([&](double ms) {
    grace_ms = ms;
    EXPECT_TRUE(listening);
    refused = routes_.handle(decision()).status;
    health = routes_.handle({.method = "GET", .path = "/health", .headers = {}, .body = ""}).status;
    release_.set_value(true);
  });
  const auto stop_listener = [&] {
    // As the real one: returns when the requests at work are answered.
    last = in_flight_.get();
    listening = false;
  };
  shut_down(routes_, decider_, stop_listener, 250);
  EXPECT_EQ(grace_ms, 250);
  EXPECT_EQ(refused, 503);
  EXPECT_EQ(health, 503);
  EXPECT_EQ(last.status, 200) << last.body;
  EXPECT_FALSE(listening);
  EXPECT_EQ(decider_.decided(), 1);
}

TEST_F(ShutdownTest, WhatIsNotAnsweredWithinTheGraceGets503) {
  decider_.drain_with([this](double) { release_.set_value(false); });
  HttpReply last;
  shut_down(routes_, decider_, [&] { last = in_flight_.get(); }, 0);
  EXPECT_EQ(last.status, 503);
  EXPECT_NE(last.body.find(R"("code": "unavailable", "retryable": true)"), std::string::npos) << last.body;
}

TEST(ExitLimit, CallsWhenItsTimeIsOver) {
  std::promise<void> late;
  ExitLimit limit([&late] { late.set_value(); });
  limit.start(0);
  late.get_future().wait();
}

TEST(ExitLimit, IsCalledOffByItsEnd) {
  std::atomic<int> calls{0};
  {
    ExitLimit limit([&calls] { ++calls; });
    limit.start(kLongMs);
  }
  {
    const ExitLimit never_started([&calls] { ++calls; });
  }
  EXPECT_EQ(calls.load(), 0);
}

}  // namespace
}  // namespace assay::server
