#include "server/llama/chat_calls.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace assay::server {
namespace {

TEST(ChatCalls, CountsThoseAtWorkAndKnowsTheOldest) {
  ManualClock clock;
  ChatCalls calls(&clock);
  EXPECT_EQ(calls.oldest_ms(), 0);
  auto first = calls.begin({});
  clock.advance_ms(5);
  auto second = calls.begin({});
  clock.advance_ms(5);
  EXPECT_EQ(calls.in_flight(), 2u);
  EXPECT_EQ(calls.oldest_ms(), 10);
  first.reset();
  EXPECT_EQ(calls.in_flight(), 1u);
  EXPECT_EQ(calls.oldest_ms(), 5);
}

TEST(ChatCalls, SaysWhenTheLastOneHasEnded) {
  ChatCalls calls;
  int times = 0;
  calls.on_idle([&times] { ++times; });
  auto first = calls.begin({});
  auto second = calls.begin({});
  first.reset();
  EXPECT_EQ(times, 0);
  second.reset();
  EXPECT_EQ(times, 1);
  calls.close(0);
  EXPECT_EQ(calls.begin({}), nullptr);
  EXPECT_EQ(times, 1);  // what was refused was never at work
}

TEST(ChatCalls, ACallIsOverWhenItsClientHasGone) {
  ChatCalls calls;
  bool gone = false;
  const auto call = calls.begin([&gone] { return gone; });
  EXPECT_FALSE(call->is_over());
  gone = true;
  EXPECT_TRUE(call->is_over());
  EXPECT_FALSE(calls.begin({})->is_over());
}

TEST(ChatCalls, ClosingTellsThoseAtWorkAndTakesNoMore) {
  ChatCalls calls;
  auto call = calls.begin({});
  std::thread worker([call = std::move(call)]() mutable {
    while (!call->is_over()) std::this_thread::yield();
    call.reset();
  });
  calls.close(0);  // returns only when the worker has let go
  EXPECT_EQ(calls.in_flight(), 0u);
  EXPECT_EQ(calls.begin({}), nullptr);
  calls.close(0);
  worker.join();
}

TEST(ChatCalls, WhatWaitsForSomethingElseIsFreedWhenItIsGivenUp) {
  ChatCalls calls;
  auto call = calls.begin({});
  std::promise<void> freed;
  std::thread worker([call = std::move(call), &freed]() mutable {
    freed.get_future().wait();  // looks at nothing
    call.reset();
  });
  int times = 0;
  const auto free_it = [&] {
    ++times;
    freed.set_value();
  };
  calls.close(0, free_it);
  EXPECT_EQ(calls.in_flight(), 0u);
  calls.close(0, free_it);  // nothing is at work any more
  EXPECT_EQ(times, 1);
  worker.join();
}

}  // namespace
}  // namespace assay::server
