#include "server/chat_calls.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::server
