#include <gtest/gtest.h>

#include <string>

#include "service/testing/decider_fixture.h"

namespace assay::service {
namespace {

using testing::Fixture;

// Where a request that does not fit is said to be too long.
std::string place_of(DecisionRequest request, Readout readout) {
  request.readout = readout;
  Fixture fixture;
  const Result<DecisionReply> reply = fixture.decider->decide(request);
  if (reply.ok()) return "answered";
  EXPECT_EQ(reply.error().code, ErrorCode::kTooLong);
  return reply.error().field;
}

std::string words(std::size_t bytes) { return std::string(bytes, 'w'); }

DecisionRequest short_request() {
  return {.state = Value("s"),
          .questions = {{.id = "q", .text = "why", .options = {{"a", {}}, {"b", {}}}},
                        {.id = "r", .text = "how", .options = {{"c", {}}, {"d", "words"}}}}};
}

TEST(LongestPart, IsTheStateWhereThatIsLongest) {
  DecisionRequest request = short_request();
  request.state = Value(words(5000));
  request.questions[1].text = words(100);
  for (const Readout readout : {Readout::kText, Readout::kLetters}) EXPECT_EQ(place_of(request, readout), "state");
}

TEST(LongestPart, IsTheTextOfTheQuestionThatIsTooLong) {
  DecisionRequest request = short_request();
  request.questions[1].text = words(5000);
  for (const Readout readout : {Readout::kText, Readout::kLetters})
    EXPECT_EQ(place_of(request, readout), "questions[1].text");
}

TEST(LongestPart, IsOneOption) {
  DecisionRequest request = short_request();
  request.questions[1].options[1].description = words(5000);
  for (const Readout readout : {Readout::kText, Readout::kLetters})
    EXPECT_EQ(place_of(request, readout), "questions[1].options[1].description");
  request = short_request();
  request.questions[0].options[1].id = words(4090);
  EXPECT_EQ(place_of(request, Readout::kText), "questions[0].options[1]");
}

// A byte is a token here, a pair of capital letters too: nothing is said to have more tokens than it has.
TEST(SurelyTooLong, SaysSoBeforeAnythingIsTokenised) {
  const engine::testing::FakeEncoder encoder;
  const auto refused = [&](const DecisionRequest& request) {
    return surely_too_long(request, Readout::kText, 100, encoder);
  };
  DecisionRequest request = short_request();
  request.state = Value(words(150));
  EXPECT_FALSE(refused(request));
  request.state = Value("  " + words(201) + std::string(5000, '\n'));
  ASSERT_TRUE(refused(request));
  EXPECT_EQ(refused(request)->code, ErrorCode::kTooLong);
  EXPECT_EQ(refused(request)->field, "state");
  EXPECT_NE(refused(request)->message.find("at least 103 tokens"), std::string::npos) << refused(request)->message;
  EXPECT_FALSE(surely_too_long(request, Readout::kText, 0, encoder));  // no limit is known
  request.state = Value(std::string(5000, ' ') + "s");                 // a template may trim it
  EXPECT_FALSE(refused(request));
  request.state = Value("s");
  request.questions[1].options[1].description = words(300);
  EXPECT_EQ(refused(request)->field, "questions[1].options[1].description");
  request.questions[0].scored = false;  // its cues have the state alone
  request.questions[0].text = words(300);
  request.questions[1].options[1].description = "words";
  EXPECT_FALSE(refused(request));
}

TEST(SurelyTooLong, IsAskedByTheDecider) {
  Fixture fixture;
  fixture.decider->mutable_report().context_tokens = 4000;
  DecisionRequest request = short_request();
  request.state = Value(words(9000));
  const Result<DecisionReply> reply = fixture.decider->decide(request);
  ASSERT_FALSE(reply.ok());
  EXPECT_NE(reply.error().message.find("at least"), std::string::npos);
}

TEST(LongestPart, IsAllOptionsWhereLettersListThem) {
  DecisionRequest request = short_request();
  request.questions[0].options.clear();
  for (const char* id : {"a", "b", "c", "d", "e"}) request.questions[0].options.push_back({id, words(1000)});
  EXPECT_EQ(place_of(request, Readout::kLetters), "questions[0].options");
  EXPECT_EQ(place_of(request, Readout::kText), "answered");
}

}  // namespace
}  // namespace assay::service
