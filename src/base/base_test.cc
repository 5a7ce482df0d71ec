#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "assay/error.h"
#include "base/clock.h"
#include "base/compute_gate.h"
#include "base/edit_distance.h"
#include "base/request_gate.h"
#include "base/sha256.h"
#include "base/utf8.h"

namespace assay {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
  EXPECT_EQ(edit_distance("sevre", "serve"), 1u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
}

TEST(Sha256, EqualsThePublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, ALongTextHasThePublishedSum) {
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAMissingFileIsEmpty) { EXPECT_EQ(sha256_hex_of_file("/nonexistent/file"), ""); }

TEST(Sha256, OfPiecesIsThatOfTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, text.size()}) {
    Sha256 sum;
    for (std::size_t at = 0; at < text.size(); at += piece) sum.update(std::string_view(text).substr(at, piece));
    EXPECT_EQ(sum.hex(), sha256_hex(text)) << piece;
  }
  EXPECT_EQ(Sha256().hex(), sha256_hex(""));
}

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

// Those who wait have their turns in the order in which they came. Who waits is known from outside only by the gate's
// own word, so each thread comes once the one before it has its ticket.
TEST(ComputeGate, GivesTurnsOneAtATimeInTheOrderOfComing) {
  ComputeGate gate;
  std::vector<int> order;  // guarded by the gate
  std::vector<std::thread> threads;
  {
    const ComputeGate::Turn turn(&gate);
    for (int i = 0; i < 8; i++) {
      threads.emplace_back([&gate, &order, i] {
        const ComputeGate::Turn mine(&gate);
        order.push_back(i);
      });
      while (gate.waiting() != static_cast<std::size_t>(i) + 1) std::this_thread::yield();
    }
    EXPECT_TRUE(order.empty());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(gate.waiting(), 0u);
}

TEST(ComputeGate, ATurnWithoutAGateNeverWaits) {
  const ComputeGate::Turn first(nullptr);
  const ComputeGate::Turn second(nullptr);
  EXPECT_EQ(ComputeGate().waiting(), 0u);
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
  struct Row {
    ErrorCode code;
    const char* name;
    int status;
    int exit;
  };
  const std::vector<Row> rows = {{ErrorCode::kInvalidArgument, "invalid_argument", 400, 2},
                                 {ErrorCode::kTooLong, "too_long", 413, 2},
                                 {ErrorCode::kUnsupportedModel, "unsupported_model", 500, 2},
                                 {ErrorCode::kNotFound, "not_found", 404, 2},
                                 {ErrorCode::kMediaType, "media_type", 415, 1},
                                 {ErrorCode::kUnauthorized, "unauthorized", 401, 1},
                                 {ErrorCode::kOverloaded, "overloaded", 503, 1},
                                 {ErrorCode::kTooBusy, "too_busy", 429, 1},
                                 {ErrorCode::kUnavailable, "unavailable", 503, 1},
                                 {ErrorCode::kDeadline, "deadline", 504, 1},
                                 {ErrorCode::kCancelled, "cancelled", 499, 1},
                                 {ErrorCode::kNonfiniteLogits, "nonfinite_logits", 500, 1},
                                 {ErrorCode::kOutOfMemory, "out_of_memory", 500, 1},
                                 {ErrorCode::kIo, "io", 500, 1},
                                 {ErrorCode::kInternal, "internal", 500, 1}};
  for (const Row& row : rows) {
    EXPECT_STREQ(error_name(row.code), row.name);
    EXPECT_EQ(http_status(row.code), row.status) << row.name;
    EXPECT_EQ(exit_code(row.code), row.exit) << row.name;
  }
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
