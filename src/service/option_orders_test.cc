#include "service/option_orders.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/testing/decider_fixture.h"

namespace assay::service {
namespace {

using testing::decided;
using testing::Fixture;

bool every(const Question&) { return true; }

DecisionRequest request_with(std::int32_t permute, std::size_t options = 4) {
  DecisionRequest request{.state = Value("s"), .questions = {}};
  for (const char* id : {"first", "second"}) {
    Question question{.id = id, .text = std::string("why ") + id, .options = {}};
    for (std::size_t i = 0; i < options; i++)
      question.options.push_back({std::string(1, static_cast<char>('a' + i)), {}});
    request.questions.push_back(std::move(question));
  }
  request.questions[1].permute = permute;
  return request;
}

// An answer that likes the place `liked` in the list, whatever stands there.
Answer liking(const Question& question, std::size_t liked) {
  Answer answer{.question_id = question.id};
  for (std::size_t i = 0; i < question.options.size(); i++)
    answer.options.push_back({.id = question.options[i].id,
                              .probability = i == liked ? 0.7 : 0.3 / static_cast<double>(question.options.size() - 1),
                              .score = i == liked ? 1.0 : 0.0});
  answer.best = liked;
  answer.allowed_mass = 0.5;
  return answer;
}

TEST(OptionOrders, AreTheCallersOwnWhenNothingIsAsked) {
  const DecisionRequest request = request_with(1);
  EXPECT_TRUE(OptionOrders(request, every).trivial());
  const DecisionRequest other = request_with(4);
  EXPECT_TRUE(OptionOrders(other, [](const Question&) { return false; }).trivial());
  EXPECT_FALSE(OptionOrders(other, every).trivial());
}

TEST(OptionOrders, AllTogetherAreNoMoreThanQuestionsMayBe) {
  const DecisionRequest request = request_with(4);  // five in all, four of them of the second question
  const OptionOrders orders(request, every);
  EXPECT_TRUE(orders.check_count(5).ok());
  const Status refused = orders.check_count(4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().field, "questions[1].permute");
  EXPECT_NE(refused.error().message.find("5 orders"), std::string::npos);
}

TEST(OptionOrders, ADeciderRefusesTooManyOfThem) {
  Fixture fixture;
  DecisionRequest request = request_with(4);
  request.readout = Readout::kLetters;
  for (int i = 0; i < 100; i++) {
    request.questions.push_back(request.questions[1]);
    request.questions.back().id = "more " + std::to_string(i);
  }
  const Result<DecisionReply> reply = fixture.decider->decide(request);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().field, "questions[1].permute");
  request.readout = Readout::kText;  // whose answers depend on no order
  EXPECT_TRUE(fixture.decider->decide(request).ok());
}

TEST(OptionOrders, TurnTheOptionsByEqualSteps) {
  const DecisionRequest request = request_with(2);
  const DecisionRequest asked = OptionOrders(request, every).expanded();
  ASSERT_EQ(asked.questions.size(), 3u);
  std::vector<std::string> orders;
  for (const Question& question : asked.questions) {
    EXPECT_EQ(question.permute, 1);
    std::string& order = orders.emplace_back();
    for (const Option& option : question.options) order += option.id;
  }
  EXPECT_EQ(orders, (std::vector<std::string>{"abcd", "abcd", "cdab"}));
  EXPECT_TRUE(validate_request(asked, {}).ok());
}

TEST(OptionOrders, CancelALikingForAPlace) {
  const DecisionRequest request = request_with(4);
  OptionOrders orders(request, every);
  const DecisionRequest asked = orders.expanded();
  DecisionReply reply;
  for (const Question& question : asked.questions) reply.answers.push_back(liking(question, 0));
  const DecisionReply merged = orders.merged(reply);
  ASSERT_EQ(merged.answers.size(), 2u);
  EXPECT_EQ(merged.answers[0].orders, 1);
  EXPECT_EQ(merged.answers[0].options[0].probability, 0.7);
  const Answer& mean = merged.answers[1];
  EXPECT_EQ(mean.question_id, "second");
  EXPECT_EQ(mean.orders, 4);
  for (std::size_t i = 0; i < 4; i++) {
    EXPECT_EQ(mean.options[i].id, std::string(1, static_cast<char>('a' + i)));
    EXPECT_NEAR(mean.options[i].probability, 0.25, 1e-12);
    EXPECT_NEAR(mean.options[i].score, 0.25, 1e-12);
  }
  EXPECT_EQ(*mean.allowed_mass, 0.5);
  EXPECT_NEAR(mean.confidence, 0, 1e-12);
}

TEST(OptionOrders, TellTheMeanOnceWhenTheLastOrderIsThere) {
  DecisionRequest request = request_with(4);
  std::vector<std::pair<std::size_t, Answer>> told;
  request.on_answer = [&told](std::size_t question, const Answer& answer) { told.emplace_back(question, answer); };
  OptionOrders orders(request, every);
  const DecisionRequest asked = orders.expanded();
  DecisionReply reply;
  for (const Question& question : asked.questions) reply.answers.push_back(liking(question, 1));
  for (const std::size_t index : {3u, 1u, 4u}) asked.on_answer(index, reply.answers[index]);
  EXPECT_TRUE(told.empty());
  asked.on_answer(2, reply.answers[2]);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, 1u);
  const DecisionReply merged = orders.merged(reply);
  for (std::size_t i = 0; i < 4; i++)
    EXPECT_EQ(told[0].second.options[i].probability, merged.answers[1].options[i].probability);
}

TEST(OptionOrders, ErrorsNameTheCallersQuestion) {
  const DecisionRequest request = request_with(4);
  const OptionOrders orders(request, every);
  const Error error =
      orders.in_original(Error{ErrorCode::kTooLong, "questions[3].options is too long", "questions[3].options"});
  EXPECT_EQ(error.field, "questions[1].options");
  EXPECT_EQ(error.message, "questions[1].options is too long");
  EXPECT_EQ(orders.in_original(Error{ErrorCode::kTooLong, "state", "state"}).field, "state");
}

TEST(OptionOrders, LettersAreAMeanOfTheOrdersAskedAlone) {
  Fixture fixture;
  DecisionRequest request = request_with(1);
  request.questions.erase(request.questions.begin());
  request.readout = Readout::kLetters;
  DecisionRequest turned = request;
  std::rotate(turned.questions[0].options.begin(), turned.questions[0].options.begin() + 2,
              turned.questions[0].options.end());
  const Answer first = decided(*fixture.decider, request).answers[0];
  const Answer second = decided(*fixture.decider, turned).answers[0];
  request.questions[0].permute = 2;
  const Answer mean = decided(*fixture.decider, request).answers[0];
  EXPECT_EQ(mean.orders, 2);
  for (std::size_t i = 0; i < 4; i++) {
    EXPECT_NEAR(mean.options[i].probability,
                (first.options[i].probability + second.options[(i + 2) % 4].probability) / 2, 1e-12);
  }
  // Text scores each option by itself: nothing to average.
  request.readout = Readout::kText;
  EXPECT_EQ(decided(*fixture.decider, request).answers[0].orders, 1);
}

}  // namespace
}  // namespace assay::service
