// What a request comes with besides its words: its end, its deadline, its layout, its receipt, and what is kept of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "decision/prompt.h"
#include "service/testing/decider_fixture.h"

namespace assay::service {
namespace {

using engine::BatchRow;
using testing::decided;
using testing::Fixture;
using testing::FixtureOptions;
using testing::numbers_of;
using testing::request_of;

using Rows = std::span<const BatchRow>;

// Batches so small that a long request takes many.
FixtureOptions small_batches() {
  FixtureOptions options;
  options.limits.batch_rows_max = 64;
  return options;
}

DecisionRequest long_request(Readout readout = Readout::kLetters) {
  DecisionRequest request = request_of({{"red", {}}, {"blue", {}}}, readout);
  request.state = Value(std::string(3500, 'x'));
  return request;
}

DecisionRequest short_request(Readout readout = Readout::kText) {
  return request_of({{"red", {}}, {"blue", {}}}, readout);
}

// Something that happens once and that others wait for.
class Event {
 public:
  void happen() {
    if (!happened_.exchange(true)) promise_.set_value();
  }
  void wait() const { future_.wait(); }

 private:
  std::atomic<bool> happened_{false};
  std::promise<void> promise_;
  const std::shared_future<void> future_ = promise_.get_future().share();
};

TEST(DeciderTerms, ACancelledRequestIsDroppedAndTheNextIsAnswered) {
  for (const Readout readout : {Readout::kLetters, Readout::kText}) {
    Event asked;
    Fixture fixture(small_batches());
    fixture.decoder->on_decode = [&](int, Rows) {
      asked.wait();
      std::this_thread::yield();
      return Status();
    };
    DecisionRequest request = long_request(readout);
    request.cancelled = [&] {
      asked.happen();
      return true;
    };
    const Result<DecisionReply> cancelled = fixture.decider->decide(request);
    ASSERT_FALSE(cancelled.ok());
    EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
    EXPECT_GE(fixture.decider->stats().jobs_cancelled, 1u);
    EXPECT_EQ(fixture.decider->in_flight(), 0u);
    request.cancelled = nullptr;
    const DecisionReply after = decided(*fixture.decider, request);
    EXPECT_EQ(numbers_of(after), numbers_of(decided(*Fixture(small_batches()).decider, request)));
    EXPECT_EQ(fixture.decoder->faults(), std::vector<std::string>());
  }
}

TEST(DeciderTerms, ARequestThatIsStillWantedIsAnswered) {
  Event asked;
  Fixture fixture;
  fixture.decoder->on_decode = [&](int, Rows) {
    asked.wait();
    return Status();
  };
  DecisionRequest request = short_request();
  request.cancelled = [&] {
    asked.happen();
    return false;
  };
  EXPECT_TRUE(fixture.decider->decide(request).ok());
}

TEST(DeciderTerms, WhatIsLateIsAnErrorAndComputedNoFurther) {
  for (const bool by_default : {false, true}) {
    FixtureOptions options = small_batches();
    if (by_default) options.decider.timeout_ms = 150;
    Fixture fixture(options);
    fixture.decoder->on_decode = [&](int, Rows) {
      fixture.clock.advance_ms(100);
      return Status();
    };
    DecisionRequest request = long_request();
    if (!by_default) request.timeout_ms = 150;
    const Result<DecisionReply> late = fixture.decider->decide(request);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, ErrorCode::kDeadline);
    EXPECT_EQ(late.error().field, "timeout_ms");
    EXPECT_EQ(fixture.decoder->decodes(), 2);  // the second ends at 200 ms
    request.timeout_ms = 1e6;                  // its own counts before the default
    EXPECT_TRUE(fixture.decider->decide(request).ok());
  }
}

TEST(DeciderTerms, WhatCannotMakeItsDeadlineIsRefusedAtOnce) {
  Fixture fixture(small_batches());
  fixture.decoder->on_decode = [&](int, Rows) {
    fixture.clock.advance_ms(100);  // 640 rows a second
    return Status();
  };
  decided(*fixture.decider, short_request());
  const int decodes = fixture.decoder->decodes();
  DecisionRequest request = long_request();
  request.timeout_ms = 2000;
  const Result<DecisionReply> refused = fixture.decider->decide(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooBusy);
  EXPECT_GE(refused.error().retry_after_seconds, 1.0);
  EXPECT_EQ(fixture.decoder->decodes(), decodes);
  request.timeout_ms = 20000;
  EXPECT_TRUE(fixture.decider->decide(request).ok());
}

decision::Prompt prompt_by_hand(const Fixture& fixture, const DecisionRequest& request) {
  const Question& question = request.questions.front();
  if (request.readout == Readout::kText) return decision::text_prompt(request.state, question, request.layout);
  const std::span<const std::string> labels = fixture.decider->labels().codes;
  return decision::letters_prompt(request.state, question, labels.first(question.options.size()), request.layout);
}

TEST(DeciderTerms, EachLayoutsPromptIsTheOneThatItsVersionNames) {
  Fixture fixture;
  std::vector<std::string> versions;
  std::vector<std::string> texts;
  for (const Readout readout : {Readout::kLetters, Readout::kText}) {
    for (const Layout layout : {Layout::kStateFirst, Layout::kQuestionFirst}) {
      DecisionRequest request = short_request(readout);
      request.layout = layout;
      request.explain = true;
      const Answer answer = decided(*fixture.decider, request).answers[0];
      const decision::Prompt prompt = prompt_by_hand(fixture, request);
      const auto encoded =
          fixture.encoder.encode_prompt({.system = prompt.system, .user = prompt.user, .base_cue = prompt.base_cue});
      ASSERT_TRUE(encoded.ok());
      EXPECT_EQ(answer.prompt, encoded->text);
      EXPECT_EQ(answer.prompt_token_ids, encoded->tokens);
      EXPECT_EQ(answer.prompt_version, prompt.version);
      EXPECT_EQ(answer.layout, layout);
      EXPECT_EQ(std::count(versions.begin(), versions.end(), answer.prompt_version), 0);
      EXPECT_EQ(std::count(texts.begin(), texts.end(), answer.prompt), 0);
      versions.push_back(answer.prompt_version);
      texts.push_back(answer.prompt);
    }
  }
}

TEST(DeciderTerms, TheSettingSaysWhichLayoutARequestGetsThatNamesNone) {
  for (const Layout layout : {Layout::kStateFirst, Layout::kQuestionFirst}) {
    Fixture fixture({.decider = {.layout = layout}});
    EXPECT_EQ(decided(*fixture.decider, short_request()).answers[0].layout, layout);
  }
}

Receipt receipt_of(LocalDecider& decider, DecisionRequest request) {
  request.receipt = true;
  const DecisionReply reply = decided(decider, request);
  EXPECT_TRUE(reply.receipt.has_value());
  return reply.receipt.value_or(Receipt());
}

// Which of the five hashes two receipts have in common, as letters.
std::string in_common(const Receipt& a, const Receipt& b) {
  std::string same;
  if (a.model == b.model) same += 'm';
  if (a.build == b.build) same += 'b';
  if (a.settings == b.settings) same += 's';
  if (a.tokens == b.tokens) same += 't';
  if (a.scores == b.scores) same += 'n';
  return same;
}

TEST(DeciderTerms, EqualRequestsHaveEqualReceiptsAndOthersDifferInWhatMovedThem) {
  Fixture fixture;
  LocalDecider& decider = *fixture.decider;
  const Receipt first = receipt_of(decider, short_request());
  DecisionRequest again = short_request();
  again.priority = Priority::kBulk;
  again.timeout_ms = 1e6;
  again.client = "other";
  again.explain = true;
  EXPECT_EQ(in_common(receipt_of(decider, again), first), "mbstn");  // warm, and with other terms
  DecisionRequest other = short_request();
  other.state = Value("t");
  EXPECT_EQ(in_common(receipt_of(decider, other), first), "mbs");
  other = short_request();
  other.questions[0].options[1].id = "green";
  EXPECT_EQ(in_common(receipt_of(decider, other), first), "mbs");
  other = short_request();
  other.layout = Layout::kQuestionFirst;
  EXPECT_EQ(in_common(receipt_of(decider, other), first), "mb");
  EXPECT_EQ(in_common(receipt_of(decider, short_request(Readout::kLetters)), first), "mb");
  other = short_request(Readout::kAuto);  // the report's readout is text
  EXPECT_EQ(in_common(receipt_of(decider, other), first), "mbstn");
  EXPECT_FALSE(decided(decider, short_request()).receipt.has_value());
}

TEST(DeciderTerms, AReceiptNamesTheModelTheBuildAndTheSettings) {
  const auto receipt_under = [](const FixtureOptions& options) {
    return receipt_of(*Fixture(options).decider, short_request());
  };
  const Receipt first = receipt_under({});
  EXPECT_EQ(in_common(receipt_under({.sha256 = "another"}), first), "bstn");
  EXPECT_EQ(in_common(receipt_under({.decider = {.build = "another"}}), first), "mstn");
  EXPECT_EQ(in_common(receipt_under({.decider = {.settings = {{"threads", "2"}}}}), first), "mbtn");
}

TEST(DeciderTerms, RepliesAreKeptOnlyWhereTheSameRequestHasTheSameAnswer) {
  for (const bool deterministic : {true, false}) {
    Fixture fixture({.decider = {.answer_cache_entries = 4}, .deterministic = deterministic});
    const DecisionReply first = decided(*fixture.decider, short_request());
    EXPECT_FALSE(first.from_answer_cache);
    const int decodes = fixture.decoder->decodes();
    const DecisionReply second = decided(*fixture.decider, short_request());
    EXPECT_EQ(second.from_answer_cache, deterministic);
    EXPECT_EQ(second.computed_rows == 0, deterministic);
    EXPECT_EQ(fixture.decoder->decodes() == decodes, deterministic);
    EXPECT_EQ(numbers_of(second), numbers_of(first));
    EXPECT_EQ(fixture.decider->stats().answer_cache_hits, deterministic ? 1u : 0u);
    EXPECT_EQ(fixture.decider->stats().answer_cache_misses, deterministic ? 1u : 0u);
  }
}

TEST(DeciderTerms, AFailureIsNotKept) {
  std::atomic<bool> broken{true};
  Fixture fixture({.decider = {.answer_cache_entries = 4}, .deterministic = true});
  fixture.decoder->on_decode = [&](int, Rows) {
    return broken ? Status(Error{ErrorCode::kInternal, "played", ""}) : Status();
  };
  EXPECT_EQ(fixture.decider->decide(short_request()).error().code, ErrorCode::kInternal);
  broken = false;
  EXPECT_FALSE(decided(*fixture.decider, short_request()).from_answer_cache);
}

// Without a prefix cache a request's rows are its own and, for the first one, the priors'.
TEST(DeciderTerms, PriorsOfOneQuestionAreComputedOnceHoweverManyAskAtOnce) {
  FixtureOptions options;
  options.scheduler.engine.cache_tokens = 0;
  Fixture alone(options);
  const std::int32_t with_priors = decided(*alone.decider, short_request()).computed_rows;
  const std::int32_t own = decided(*alone.decider, short_request()).computed_rows;
  ASSERT_GT(with_priors, own);
  Fixture fixture(options);
  fixture.decoder->on_decode = [&](int number, Rows) {
    while (number == 0 && fixture.decider->in_flight() < 16) std::this_thread::yield();
    return Status();
  };
  std::atomic<std::int32_t> rows{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 16; client++) {
    clients.emplace_back([&, client] {
      DecisionRequest request = short_request();
      request.state = Value(std::string(1, static_cast<char>('a' + client)));
      rows += decided(*fixture.decider, request).computed_rows;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(rows, with_priors + 15 * own);
  EXPECT_EQ(fixture.decider->stats().rows, static_cast<std::uint64_t>(rows));
  EXPECT_EQ(fixture.decider->priors().size(), 1u);
}

bool contains(const engine::Tokens& path, const engine::Tokens& words) {
  return std::search(path.begin(), path.end(), words.begin(), words.end()) != path.end();
}

TEST(DeciderTerms, PriorsThatCannotBeComputedAreTheRequestsError) {
  std::atomic<bool> broken{true};
  Fixture fixture;
  const engine::Tokens neutral = fixture.encoder.tokens_of("N/A");
  fixture.decoder->on_logits = [&](const engine::Tokens& path, std::vector<float>& logits) {
    if (broken && contains(path, neutral)) logits[1] = std::numeric_limits<float>::quiet_NaN();
  };
  EXPECT_EQ(fixture.decider->decide(short_request()).error().code, ErrorCode::kNonfiniteLogits);
  EXPECT_EQ(fixture.decider->priors().size(), 0u);
  EXPECT_TRUE(fixture.decider->decide(short_request(Readout::kLetters)).ok());  // it has none
  broken = false;
  EXPECT_EQ(numbers_of(decided(*fixture.decider, short_request())),
            numbers_of(decided(*Fixture().decider, short_request())));
  EXPECT_EQ(fixture.decider->priors().size(), 1u);
}

// The first request is late while the second one waits for its priors.
TEST(DeciderTerms, WhoeverWaitsForPriorsThatFailComputesThemItself) {
  Event first_began;
  Event second_began;
  Fixture fixture;
  fixture.decoder->on_decode = [&](int number, Rows) {
    if (number > 0) return Status();
    second_began.wait();
    fixture.clock.advance_ms(1000);
    return Status(Error{ErrorCode::kInternal, "played", ""});  // so that nothing of the first was computed in time
  };
  DecisionRequest first = short_request();
  first.timeout_ms = 500;
  // Asked only after its priors were begun.
  first.cancelled = [&] {
    first_began.happen();
    return false;
  };
  DecisionRequest second = short_request();
  second.state = Value("another");
  second.cancelled = [&] {
    second_began.happen();
    return false;
  };
  ErrorCode code = ErrorCode::kIo;
  std::thread client([&] {
    const Result<DecisionReply> reply = fixture.decider->decide(first);
    if (!reply.ok()) code = reply.error().code;
  });
  first_began.wait();
  const DecisionReply reply = decided(*fixture.decider, second);
  client.join();
  EXPECT_TRUE(code == ErrorCode::kDeadline || code == ErrorCode::kInternal) << error_name(code);
  EXPECT_EQ(numbers_of(reply), numbers_of(decided(*Fixture().decider, second)));
  EXPECT_EQ(fixture.decider->priors().size(), 1u);
}

TEST(DeciderTerms, DrainingAnswersWhatIsInsideAndRefusesWhatComesAfter) {
  Fixture fixture;
  fixture.decoder->on_decode = [&](int, Rows) {
    while (fixture.decider->healthy()) std::this_thread::yield();  // until the door is closed
    return Status();
  };
  std::promise<Result<DecisionReply>> inside;
  std::thread client([&] { inside.set_value(fixture.decider->decide(short_request())); });
  while (fixture.decider->in_flight() == 0) std::this_thread::yield();
  fixture.decider->drain(60000);
  client.join();
  const Result<DecisionReply> reply = inside.get_future().get();
  EXPECT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_FALSE(fixture.decider->healthy());
  EXPECT_EQ(fixture.decider->decide(short_request()).error().code, ErrorCode::kUnavailable);
  fixture.decider->drain(Decider::kNoLimit);  // idempotent
}

// Tried with a job that nobody wants.
bool takes_jobs(engine::Scheduler& scheduler) {
  engine::Job job;
  job.segments.push_back({.tokens = {1}});
  job.terms.cancelled = std::make_shared<std::atomic<bool>>(true);
  const auto future = scheduler.submit(std::move(job));
  return future.ok() || future.error().code != ErrorCode::kUnavailable;
}

TEST(DeciderTerms, WhatIsNotAnsweredWithinTheGraceIsRefused) {
  Fixture fixture(small_batches());
  fixture.decoder->on_decode = [&](int, Rows) {
    // Until the scheduler takes no more; then the request still needs many batches.
    while (takes_jobs(*fixture.scheduler)) std::this_thread::yield();
    return Status();
  };
  std::promise<Result<DecisionReply>> inside;
  std::thread client([&] { inside.set_value(fixture.decider->decide(long_request())); });
  while (fixture.decider->in_flight() == 0) std::this_thread::yield();
  fixture.decider->drain(1);
  client.join();
  const Result<DecisionReply> reply = inside.get_future().get();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_LT(fixture.decoder->rows_decoded(), 3500);
}

}  // namespace
}  // namespace assay::service
