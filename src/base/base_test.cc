#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "assay/error.h"
#include "base/bounded_queue.h"
#include "base/clock.h"
#include "base/request_gate.h"
#include "base/sha256.h"
#include "base/utf8.h"

namespace assay {
namespace {

TEST(Sha256, EqualsThePublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, OfAMissingFileIsEmpty) { EXPECT_EQ(sha256_hex_of_file("/nonexistent/file"), ""); }

TEST(Utf8, AcceptsEveryLengthAndTheEdges) {
  EXPECT_FALSE(first_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82\xF4\x8F\xBF\xBF").has_value());
  EXPECT_FALSE(first_invalid_utf8("").has_value());
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8("ab\xC0\x80"), 2u);         // overlong
  EXPECT_EQ(first_invalid_utf8("\xED\xA0\x80"), 0u);       // surrogate
  EXPECT_EQ(first_invalid_utf8("x\xF4\x90\x80\x80"), 1u);  // above U+10FFFF
  EXPECT_EQ(first_invalid_utf8("caf\xC3"), 3u);            // cut short
  EXPECT_EQ(first_invalid_utf8("\x80"), 0u);               // lone continuation
  EXPECT_EQ(first_invalid_utf8("\xE0\x9F\xBF"), 0u);       // overlong three bytes
}

TEST(BoundedQueue, RefusesAboveItsLimitAndKeepsOrder) {
  BoundedQueue<int> queue(2);
  EXPECT_EQ(queue.try_push(1), PushOutcome::kAccepted);
  EXPECT_EQ(queue.try_push(2), PushOutcome::kAccepted);
  EXPECT_EQ(queue.try_push(3), PushOutcome::kFull);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.try_push(3), PushOutcome::kAccepted);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), 3);
}

TEST(BoundedQueue, GivesWhatIsInsideAfterCloseThenNothing) {
  BoundedQueue<int> queue(4);
  EXPECT_EQ(queue.try_push(7), PushOutcome::kAccepted);
  queue.close();
  EXPECT_EQ(queue.try_push(8), PushOutcome::kClosed);
  EXPECT_EQ(queue.pop(), 7);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, WakesAWaitingReader) {
  BoundedQueue<int> queue(1);
  int got = 0;
  std::thread reader([&] { got = queue.pop().value_or(-1); });
  EXPECT_EQ(queue.try_push(5), PushOutcome::kAccepted);
  reader.join();
  EXPECT_EQ(got, 5);
}

TEST(RequestGate, CloseWaitsForThoseInsideAndLetsNobodyIn) {
  RequestGate gate;
  auto first = std::make_unique<RequestGate::Pass>(gate);
  EXPECT_TRUE(*first);
  EXPECT_EQ(gate.inside(), 1u);
  std::thread closer([&] { gate.close_and_wait(); });
  while (!gate.closed()) std::this_thread::yield();
  EXPECT_FALSE(RequestGate::Pass(gate));
  EXPECT_EQ(gate.inside(), 1u);
  first.reset();
  closer.join();
  EXPECT_EQ(gate.inside(), 0u);
}

TEST(ManualClock, MovesOnlyWhenAdvanced) {
  ManualClock clock;
  const std::int64_t start = clock.now_ns();
  EXPECT_EQ(clock.ms_since(start), 0.0);
  clock.advance_ms(2.5);
  EXPECT_DOUBLE_EQ(clock.ms_since(start), 2.5);
}

TEST(Errors, EachCodeHasItsNameStatusAndExitCode) {
  EXPECT_STREQ(error_name(ErrorCode::kNonfiniteLogits), "nonfinite_logits");
  EXPECT_EQ(http_status(ErrorCode::kInvalidArgument), 400);
  EXPECT_EQ(http_status(ErrorCode::kTooLong), 413);
  EXPECT_EQ(http_status(ErrorCode::kOverloaded), 503);
  EXPECT_EQ(http_status(ErrorCode::kNonfiniteLogits), 500);
  EXPECT_EQ(exit_code(ErrorCode::kInvalidArgument), 2);
  EXPECT_EQ(exit_code(ErrorCode::kInternal), 1);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 3;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 3);
  const Result<int> bad = invalid_argument("field", "why");
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().field, "field");
  EXPECT_TRUE(Status{}.ok());
}

}  // namespace
}  // namespace assay
