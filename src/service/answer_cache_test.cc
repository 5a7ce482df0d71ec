#include "service/answer_cache.h"

#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace assay::service {
namespace {

DecisionRequest request_of(const std::string& state) {
  return DecisionRequest{.state = Value(state),
                         .questions = {{.id = "q1", .text = "What?", .options = {{"a", "Apples"}, {"b", std::nullopt}}},
                                       {.id = "q2", .text = "How?", .options = {{"c", ""}}}}};
}

DecisionReply reply_of(int tokens) {
  DecisionReply reply;
  reply.answers.push_back(Answer{.question_id = "q1"});
  reply.input_tokens = tokens;
  reply.computed_rows = 7;
  reply.cached_tokens = 3;
  reply.queue_ms = 1;
  reply.compute_ms = 2;
  return reply;
}

TEST(AnswerCache, GivesACopyThatSaysThatNothingWasComputed) {
  AnswerCache cache(2);
  EXPECT_FALSE(cache.find(request_of("s")).has_value());
  cache.insert(request_of("s"), reply_of(5));
  const std::optional<DecisionReply> found = cache.find(request_of("s"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->answers.at(0).question_id, "q1");
  EXPECT_EQ(found->input_tokens, 5);
  EXPECT_TRUE(found->from_answer_cache);
  EXPECT_EQ(found->computed_rows, 0);
  EXPECT_EQ(found->cached_tokens, 0);
  EXPECT_EQ(found->queue_ms, 0);
  EXPECT_EQ(found->compute_ms, 0);
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_EQ(cache.misses(), 1u);
}

TEST(AnswerCache, HasALimitOfBytesToo) {
  DecisionReply large = reply_of(5);
  large.answers[0].prompt = std::string(3000, 'p');
  large.answers[0].options.push_back({.id = "a", .tokens = std::vector<TokenScore>(10)});
  large.answers[0].hidden_state.resize(1000);
  AnswerCache cache(100, 20'000);
  cache.insert(request_of("one"), large);
  EXPECT_GT(cache.bytes(), 7000u);
  cache.insert(request_of("two"), large);
  cache.insert(request_of("three"), large);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_LE(cache.bytes(), 20'000u);
  EXPECT_FALSE(cache.find(request_of("one")).has_value());
  EXPECT_TRUE(cache.find(request_of("three")).has_value());
  large.answers[0].hidden_state.resize(10'000);  // more than all of it: it pushes nobody out
  cache.insert(request_of("four"), large);
  EXPECT_FALSE(cache.find(request_of("four")).has_value());
  EXPECT_EQ(cache.size(), 2u);
}

TEST(AnswerCache, WhatMovesAnAnswerIsInItsKey) {
  const std::vector<std::function<void(DecisionRequest&)>> changes = {
      [](DecisionRequest& r) { r.state = Value("t"); },
      [](DecisionRequest& r) { r.state = Value("s "); },
      [](DecisionRequest& r) { r.state = Value(Value::Array{Value("s")}); },
      [](DecisionRequest& r) { r.state = Value("\"s\""); },
      [](DecisionRequest& r) { r.questions[0].id = "q3"; },
      [](DecisionRequest& r) { r.questions[0].text = "what?"; },
      [](DecisionRequest& r) { r.questions[0].type = QuestionType::kScale; },
      [](DecisionRequest& r) { r.questions[0].options[0].id = "A"; },
      [](DecisionRequest& r) { r.questions[0].options[0].description = "Apple"; },
      [](DecisionRequest& r) { r.questions[0].options[0].description.reset(); },
      [](DecisionRequest& r) { r.questions[0].options[1].description = ""; },
      [](DecisionRequest& r) { r.questions[1].options[0].description.reset(); },
      [](DecisionRequest& r) { std::swap(r.questions[0].options[0], r.questions[0].options[1]); },
      [](DecisionRequest& r) { std::swap(r.questions[0], r.questions[1]); },
      [](DecisionRequest& r) { r.questions.pop_back(); },
      [](DecisionRequest& r) { r.readout = Readout::kText; },
      [](DecisionRequest& r) { r.layout = Layout::kQuestionFirst; },
      [](DecisionRequest& r) { r.explain = true; },
      [](DecisionRequest& r) { r.hidden_state = true; },
      [](DecisionRequest& r) { r.receipt = true; },
      [](DecisionRequest& r) { r.lesson = "none"; },
      [](DecisionRequest& r) { r.calibrated = true; },
      [](DecisionRequest& r) { r.questions[0].scored = false; },
      [](DecisionRequest& r) { r.questions[0].cues = {"a", "b"}; },
      [](DecisionRequest& r) { r.questions[0].cues = {"ab"}; },
  };
  AnswerCache cache(100);
  cache.insert(request_of("s"), reply_of(0));
  int tokens = 0;
  for (const auto& change : changes) {
    DecisionRequest request = request_of("s");
    change(request);
    ++tokens;
    EXPECT_FALSE(cache.find(request).has_value()) << tokens;  // differs from the first and from all before it
    cache.insert(request, reply_of(tokens));
    ASSERT_TRUE(cache.find(request).has_value()) << tokens;
    EXPECT_EQ(cache.find(request)->input_tokens, tokens);
  }
  EXPECT_EQ(cache.find(request_of("s"))->input_tokens, 0);
}

// A text that moves from one field to the next must not spell the same key.
TEST(AnswerCache, ABoundaryBetweenTwoTextsIsPartOfTheKey) {
  DecisionRequest a = request_of("s");
  DecisionRequest b = request_of("s");
  a.questions[0].id = "xy";
  a.questions[0].text = "z";
  b.questions[0].id = "x";
  b.questions[0].text = "yz";
  EXPECT_NE(answer_key(a), answer_key(b));
  a = b = request_of("s");
  a.questions[0].options = {{"a", "b"}};
  b.questions[0].options = {{"a", std::nullopt}, {"b", std::nullopt}};
  EXPECT_NE(answer_key(a), answer_key(b));
}

TEST(AnswerCache, EveryByteOfAStateCounts) {
  const std::string text = "The parcel came late.";
  for (std::size_t i = 0; i < text.size(); i++) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_NE(answer_key(request_of(text)), answer_key(request_of(other))) << i;
  }
}

TEST(AnswerCache, WhatMovesNoAnswerIsNotInItsKey) {
  DecisionRequest request = request_of("s");
  request.priority = Priority::kBulk;
  request.timeout_ms = 5;
  request.client = "somebody";
  request.cancelled = [] { return false; };
  EXPECT_EQ(answer_key(request), answer_key(request_of("s")));
}

TEST(AnswerCache, TheLeastRecentlyUsedGoesFirst) {
  AnswerCache cache(2);
  cache.insert(request_of("1"), reply_of(1));
  cache.insert(request_of("2"), reply_of(2));
  EXPECT_TRUE(cache.find(request_of("1")).has_value());  // now the most recent
  cache.insert(request_of("3"), reply_of(3));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_FALSE(cache.find(request_of("2")).has_value());
  EXPECT_TRUE(cache.find(request_of("1")).has_value());
  EXPECT_TRUE(cache.find(request_of("3")).has_value());
}

TEST(AnswerCache, AReplyThatIsThereStays) {
  AnswerCache cache(2);
  cache.insert(request_of("1"), reply_of(1));
  cache.insert(request_of("1"), reply_of(2));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.find(request_of("1"))->input_tokens, 1);
}

TEST(AnswerCache, WithoutEntriesItIsOff) {
  AnswerCache cache(0);
  cache.insert(request_of("1"), reply_of(1));
  EXPECT_FALSE(cache.find(request_of("1")).has_value());
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.misses(), 0u);
}

TEST(AnswerCache, KeepsNoVeryLongRequest) {
  AnswerCache cache(2);
  const DecisionRequest request = request_of(std::string(AnswerCache::kKeyBytesMax, 'x'));
  cache.insert(request, reply_of(1));
  EXPECT_FALSE(cache.find(request).has_value());
}

TEST(AnswerCache, ThreadsMayShareIt) {
  AnswerCache cache(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 200; i++) {
        const int number = (i * (t + 1)) % 5;
        const DecisionRequest request = request_of(std::to_string(number));
        const std::optional<DecisionReply> found = cache.find(request);
        EXPECT_TRUE(!found.has_value() || found->input_tokens == number);
        cache.insert(request, reply_of(number));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.size(), 3u);
  EXPECT_EQ(cache.hits() + cache.misses(), 800u);
}

}  // namespace
}  // namespace assay::service
