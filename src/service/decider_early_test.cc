// Answers told as soon as they are there, and what is set on every answer.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "service/testing/decider_fixture.h"

namespace assay::service {
namespace {

using engine::BatchRow;
using testing::decided;
using testing::Fixture;
using testing::FixtureOptions;
using testing::numbers_of;

// Batches so small that questions are answered in different ones.
FixtureOptions small_batches() {
  FixtureOptions options;
  options.limits.batch_rows_max = 64;
  return options;
}

DecisionRequest many_questions(Readout readout, std::size_t count = 6) {
  DecisionRequest request{.state = Value(std::string(100, 's')), .questions = {}, .readout = readout};
  for (std::size_t i = 0; i < count; i++) {
    request.questions.push_back({.id = "q" + std::to_string(i),
                                 .text = std::string(60 + i, 'w') + std::to_string(i),
                                 .options = {{"red", {}}, {"blue", {}}, {"green", {}}}});
  }
  return request;
}

struct Told {
  std::vector<std::size_t> questions;
  std::vector<Answer> answers;
  std::function<void(std::size_t, const Answer&)> listener() {
    return [this](std::size_t question, const Answer& answer) {
      questions.push_back(question);
      answers.push_back(answer);
    };
  }
};

TEST(DeciderEarly, EachAnswerIsToldOnceWithTheReplysBits) {
  for (const Readout readout : {Readout::kLetters, Readout::kText}) {
    Fixture plain(small_batches());
    const DecisionReply expected = decided(*plain.decider, many_questions(readout));
    Fixture fixture(small_batches());
    DecisionRequest request = many_questions(readout);
    Told told;
    request.on_answer = told.listener();
    const DecisionReply reply = decided(*fixture.decider, request);
    EXPECT_EQ(numbers_of(reply), numbers_of(expected));
    std::vector<std::size_t> sorted = told.questions;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
    for (std::size_t i = 0; i < told.questions.size(); i++)
      EXPECT_EQ(numbers_of(told.answers[i]), numbers_of(reply.answers[told.questions[i]]));
  }
}

TEST(DeciderEarly, AnswersAreToldBeforeTheLastBatch) {
  Fixture fixture(small_batches());
  DecisionRequest request = many_questions(Readout::kLetters, 8);
  int told = 0;
  std::atomic<bool> was_told_before_the_end{false};
  std::promise<void> first;
  const std::shared_future<void> first_told = first.get_future().share();
  request.on_answer = [&](std::size_t, const Answer&) {
    if (told++ == 0) first.set_value();
  };
  // Once two thirds are computed, batches wait until whoever listens has heard of the first answer.
  std::size_t rows_before = 0;
  fixture.decoder->on_decode = [&](int, std::span<const BatchRow> rows) -> Status {
    rows_before += rows.size();
    if (rows_before > 600 && first_told.wait_for(std::chrono::seconds(20)) == std::future_status::ready)
      was_told_before_the_end = true;
    return {};
  };
  decided(*fixture.decider, request);
  EXPECT_TRUE(was_told_before_the_end);
  EXPECT_EQ(told, 8);
}

TEST(DeciderEarly, WhatAFailureLeavesIsStillRight) {
  Fixture plain(small_batches());
  const DecisionReply expected = decided(*plain.decider, many_questions(Readout::kLetters));
  Fixture fixture(small_batches());
  fixture.decoder->on_decode = [](int number, std::span<const BatchRow>) -> Status {
    return number < 6 ? Status() : Error{ErrorCode::kInternal, "broken", ""};
  };
  DecisionRequest request = many_questions(Readout::kLetters);
  Told told;
  request.on_answer = told.listener();
  EXPECT_FALSE(fixture.decider->decide(request).ok());
  EXPECT_LT(told.questions.size(), 6u);
  for (std::size_t i = 0; i < told.questions.size(); i++)
    EXPECT_EQ(numbers_of(told.answers[i]), numbers_of(expected.answers[told.questions[i]]));
}

TEST(DeciderEarly, TheAnswerCacheTellsToo) {
  FixtureOptions options = small_batches();
  options.deterministic = true;
  options.decider.answer_cache_entries = 4;
  Fixture fixture(options);
  decided(*fixture.decider, many_questions(Readout::kText));
  DecisionRequest request = many_questions(Readout::kText);
  Told told;
  request.on_answer = told.listener();
  EXPECT_TRUE(decided(*fixture.decider, request).from_answer_cache);
  EXPECT_EQ(told.questions, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(DeciderAnswers, AbstainBelowTheLeastConfidence) {
  Fixture fixture;
  DecisionRequest request = many_questions(Readout::kText, 3);
  request.questions[1].min_confidence = 1;
  request.questions[2].type = QuestionType::kScale;
  const DecisionReply reply = decided(*fixture.decider, request);
  EXPECT_FALSE(reply.answers[0].abstained);
  EXPECT_TRUE(reply.answers[1].abstained);
  for (const Answer& answer : reply.answers) {
    EXPECT_GE(answer.confidence, 0);
    EXPECT_LT(answer.confidence, 1);
  }
  EXPECT_GT(reply.answers[0].confidence, 0);
  // The threshold itself is enough.
  request.questions[1].min_confidence = reply.answers[1].confidence;
  EXPECT_FALSE(decided(*fixture.decider, request).answers[1].abstained);
}

TEST(DeciderAnswers, LettersWithoutAllowedMassReadTheirOptionsAlone) {
  FixtureOptions options;
  options.limits.option_head = true;
  Fixture fixture(options);
  DecisionRequest request = many_questions(Readout::kLetters, 2);
  const DecisionReply whole = decided(*fixture.decider, request);
  EXPECT_TRUE(whole.answers[0].allowed_mass.has_value());
  EXPECT_EQ(fixture.decoder->decodes_without_logits(), 0);
  request.allowed_mass = false;
  const DecisionReply few = decided(*fixture.decider, request);
  EXPECT_GT(fixture.decoder->decodes_without_logits(), 0);
  for (std::size_t q = 0; q < 2; q++) {
    EXPECT_FALSE(few.answers[q].allowed_mass.has_value());
    EXPECT_FALSE(few.answers[q].argmax_token.has_value());
    EXPECT_EQ(few.answers[q].label_tokens, whole.answers[q].label_tokens);
    for (std::size_t i = 0; i < 3; i++)
      EXPECT_NEAR(few.answers[q].options[i].probability, whole.answers[q].options[i].probability, 1e-6);
  }
  // What is explained needs the vocabulary, and so does text.
  request.explain = true;
  const Answer explained = decided(*fixture.decider, request).answers[0];
  EXPECT_LT(explained.options[0].log_prob, 0);
  EXPECT_FALSE(explained.allowed_mass.has_value());
  const int before = fixture.decoder->decodes_without_logits();
  request = many_questions(Readout::kText, 2);
  request.allowed_mass = false;
  const DecisionReply text = decided(*fixture.decider, request);
  EXPECT_EQ(numbers_of(text), numbers_of(decided(*Fixture().decider, many_questions(Readout::kText, 2))));
  EXPECT_EQ(fixture.decoder->decodes_without_logits(), before);
}

}  // namespace
}  // namespace assay::service
