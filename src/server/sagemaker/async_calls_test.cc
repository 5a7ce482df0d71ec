#include "server/sagemaker/async_calls.h"

#include <future>

#include <gtest/gtest.h>

namespace assay::server {
namespace {

using State = AsyncCalls::State;

HttpReply reply_of(std::string body) {
  HttpReply reply;
  reply.body = std::move(body);
  return reply;
}

class AsyncCallsTest : public ::testing::Test {
 protected:
  // Has all calls answered that were started before: they are answered in their order, and the last one tells.
  void settle() {
    std::promise<void> begun;
    ASSERT_TRUE(calls_
                    .start("last " + std::to_string(settled_++),
                           [&begun] {
                             begun.set_value();
                             return reply_of("");
                           })
                    .ok());
    begun.get_future().wait();
  }

  ManualClock clock_;
  int settled_ = 0;
  AsyncCalls calls_{{.waiting_max = 3, .kept_max = 3, .kept_seconds = 10}, clock_};
};

TEST_F(AsyncCallsTest, AReplyIsKeptUntilItIsOld) {
  EXPECT_EQ(calls_.find("a").state, State::kUnknown);
  ASSERT_TRUE(calls_.start("a", [] { return reply_of("one"); }).ok());
  settle();
  EXPECT_EQ(calls_.find("a").state, State::kDone);
  EXPECT_EQ(calls_.find("a").reply.body, "one");
  EXPECT_EQ(calls_.start("a", [] { return reply_of("two"); }).error().code, ErrorCode::kInvalidArgument);
  clock_.advance_ms(10'000);
  EXPECT_EQ(calls_.find("a").state, State::kUnknown);
}

TEST_F(AsyncCallsTest, WaitingCallsHaveALimit) {
  std::promise<void> go;
  ASSERT_TRUE(calls_
                  .start("a",
                         [&go] {
                           go.get_future().wait();
                           return reply_of("one");
                         })
                  .ok());
  ASSERT_TRUE(calls_.start("b", [] { return reply_of("two"); }).ok());
  ASSERT_TRUE(calls_.start("c", [] { return reply_of("three"); }).ok());
  EXPECT_EQ(calls_.start("d", [] { return reply_of(""); }).error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(calls_.find("a").state, State::kWaiting);
  EXPECT_EQ(calls_.find("b").state, State::kWaiting);
  go.set_value();
}

TEST_F(AsyncCallsTest, TheOldestReplyGoesFirst) {
  for (int i = 0; i < 3; ++i) settle();
  ASSERT_TRUE(calls_.start("d", [] { return reply_of("d"); }).ok());
  settle();
  EXPECT_EQ(calls_.find("last 0").state, State::kUnknown);
  EXPECT_EQ(calls_.find("d").state, State::kDone);
}

TEST(AsyncCalls, EndsWithoutACall) {
  const ManualClock clock;
  const AsyncCalls calls({}, clock);
}

}  // namespace
}  // namespace assay::server
