#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "assay/decision.h"

namespace assay {
namespace {

DecisionRequest good_request() {
  return DecisionRequest{
      .state = Value("My card was charged twice."),
      .questions = {
          {.id = "want",
           .text = "What?",
           .type = QuestionType::kChoice,
           .options = {{"refund", "Money back"}, {"info", {}}}},
          {.id = "angry", .text = "Angry?", .type = QuestionType::kYesNo, .options = {{"yes", {}}, {"no", {}}}}}};
}

Error error_of(const DecisionRequest& request, const RequestLimits& limits = {}) {
  const Status status = validate_request(request, limits);
  EXPECT_FALSE(status.ok());
  return status.ok() ? Error{} : status.error();
}

void expect_error(const DecisionRequest& request, ErrorCode code, const std::string& field, const std::string& part) {
  const Error error = error_of(request);
  EXPECT_EQ(error.code, code);
  EXPECT_EQ(error.field, field);
  EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
}

Value nested(std::size_t levels) {
  Value value(Value::Array{});
  for (std::size_t i = 1; i < levels; i++) {
    Value::Array outer;
    outer.push_back(std::move(value));
    value = Value(std::move(outer));
  }
  return value;
}

TEST(ValidateRequest, AcceptsAnOrdinaryRequest) { EXPECT_TRUE(validate_request(good_request(), {}).ok()); }

TEST(ValidateRequest, RefusesALeastConfidenceThatIsNone) {
  for (const double number : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    DecisionRequest request = good_request();
    request.questions[1].min_confidence = number;
    expect_error(request, ErrorCode::kInvalidArgument, "questions[1].min_confidence", "0..1");
  }
}

TEST(ValidateRequest, RefusesMoreOrdersThanOptions) {
  for (const std::int32_t orders : {-1, 0, 3}) {
    DecisionRequest request = good_request();
    request.questions[0].permute = orders;
    expect_error(request, ErrorCode::kInvalidArgument, "questions[0].permute", "1..2");
  }
}

TEST(ValidateRequest, AcceptsEmptyStatesOfEveryKind) {
  DecisionRequest request = good_request();
  for (const Value& state : {Value(""), Value(Value::Object{}), Value(Value::Array{})}) {
    request.state = state;
    EXPECT_TRUE(validate_request(request, {}).ok());
  }
}

TEST(ValidateRequest, RefusesAStateOfAnotherKind) {
  DecisionRequest request = good_request();
  for (const Value& state : {Value(), Value(true), Value(1.5), Value(Value::Integer{"3"})}) {
    request.state = state;
    expect_error(request, ErrorCode::kInvalidArgument, "state", "string, an object or an array");
  }
}

TEST(ValidateRequest, RefusesBadUtf8AnywhereInTheState) {
  DecisionRequest request = good_request();
  request.state = Value("ab\xFF");
  expect_error(request, ErrorCode::kInvalidArgument, "state", "at byte 2");
  request.state = Value(Value::Object{{"a", Value(Value::Array{Value("\xC0")})}});
  expect_error(request, ErrorCode::kInvalidArgument, "state", "a string that is not valid UTF-8 at byte 0");
  request.state = Value(Value::Object{{"a\x80", Value()}});
  expect_error(request, ErrorCode::kInvalidArgument, "state", "a key that is not valid UTF-8 at byte 1");
}

TEST(ValidateRequest, RefusesNumbersThatJsonCannotWrite) {
  DecisionRequest request = good_request();
  request.state = Value(Value::Array{Value(std::numeric_limits<double>::infinity())});
  expect_error(request, ErrorCode::kInvalidArgument, "state", "not finite");
  request.state = Value(Value::Object{{"n", Value(std::numeric_limits<double>::quiet_NaN())}});
  expect_error(request, ErrorCode::kInvalidArgument, "state", "not finite");
  for (const char* digits : {"", "-", "-0", "007", "1.0", "1, 2", "+1"}) {
    request.state = Value(Value::Array{Value(Value::Integer{digits})});
    expect_error(request, ErrorCode::kInvalidArgument, "state", "decimal digits");
  }
  for (const char* digits : {"0", "-1", "10", "123456789012345678901234567890"}) {
    request.state = Value(Value::Array{Value(Value::Integer{digits})});
    EXPECT_TRUE(validate_request(request, {}).ok()) << digits;
  }
}

TEST(ValidateRequest, RefusesAKeyTwiceInOneObjectOnly) {
  DecisionRequest request = good_request();
  request.state = Value(Value::Object{{"a", Value(Value::Object{{"a", Value()}})}, {"b", Value()}});
  EXPECT_TRUE(validate_request(request, {}).ok());
  request.state = Value(Value::Array{Value(Value::Object{{"a", Value()}, {"b", Value()}, {"a", Value()}})});
  expect_error(request, ErrorCode::kInvalidArgument, "state", "a key twice");
}

TEST(ValidateRequest, Allows256LevelsAndNoMore) {
  DecisionRequest request = good_request();
  request.state = nested(256);
  EXPECT_TRUE(validate_request(request, {}).ok());
  request.state = nested(257);
  expect_error(request, ErrorCode::kInvalidArgument, "state", "more than 256 levels");
}

TEST(ValidateRequest, NeedsAQuestionAndCountsThem) {
  DecisionRequest request = good_request();
  const Error error = error_of(request, {.questions_max = 1});
  EXPECT_EQ(error.code, ErrorCode::kTooLong);
  EXPECT_EQ(error.field, "questions");
  EXPECT_EQ(error.message, "questions has 2 questions; at most 1 are allowed");
  request.questions.clear();
  expect_error(request, ErrorCode::kInvalidArgument, "questions", "at least 1");
}

TEST(ValidateRequest, NeedsQuestionIdsThatDiffer) {
  DecisionRequest request = good_request();
  request.questions[1].id = "";
  expect_error(request, ErrorCode::kInvalidArgument, "questions[1].id", "empty");
  request.questions[1].id = "want";
  expect_error(request, ErrorCode::kInvalidArgument, "questions[1].id", "questions[0]");
  request.questions[1].id = "x\xFE";
  expect_error(request, ErrorCode::kInvalidArgument, "questions[1].id", "at byte 1");
}

TEST(ValidateRequest, NeedsQuestionText) {
  DecisionRequest request = good_request();
  request.questions[0].text = "";
  expect_error(request, ErrorCode::kInvalidArgument, "questions[0].text", "empty");
  request.questions[0].text = "\xED\xA0\x80";
  expect_error(request, ErrorCode::kInvalidArgument, "questions[0].text", "UTF-8");
}

TEST(ValidateRequest, NeedsAnOption) {
  DecisionRequest request = good_request();
  request.questions[1].options.clear();
  expect_error(request, ErrorCode::kInvalidArgument, "questions[1].options", "at least 1");
}

TEST(ValidateRequest, AllowsAThousandOptionsAndNoMore) {
  DecisionRequest request = good_request();
  std::vector<Option>& options = request.questions[0].options;
  options.clear();
  for (int i = 0; i < 1024; i++) options.push_back({std::to_string(i), std::nullopt});
  EXPECT_TRUE(validate_request(request, {}).ok());
  options.push_back({"1024", std::nullopt});
  expect_error(request, ErrorCode::kTooLong, "questions[0].options", "has 1025 options; at most 1024 are allowed");
}

TEST(ValidateRequest, NeedsOptionIdsThatDiffer) {
  DecisionRequest request = good_request();
  request.questions[1].options.push_back({"yes", "again"});
  expect_error(request, ErrorCode::kInvalidArgument, "questions[1].options[2].id", "questions[1].options[0]");
  request.questions[1].options[2].id = "";
  expect_error(request, ErrorCode::kInvalidArgument, "questions[1].options[2].id", "empty");
}

TEST(ValidateRequest, ComparesIdsByteForByte) {
  DecisionRequest request = good_request();
  // Case, spaces, a composed and a decomposed é: all different. Questions and options do not share ids.
  request.questions[0].options = {{"a", {}},        {"A", {}},         {" a", {}},  {"a ", {}},
                                  {"\xC3\xA9", {}}, {"e\xCC\x81", {}}, {"want", {}}};
  EXPECT_TRUE(validate_request(request, {}).ok());
}

TEST(ValidateRequest, LimitsTheLengthOfIds) {
  DecisionRequest request = good_request();
  request.questions[0].options[1].id = std::string(4097, 'x');
  expect_error(request, ErrorCode::kTooLong, "questions[0].options[1].id", "has 4097 bytes; at most 4096 are allowed");
  request.questions[0].options[1].id.pop_back();
  EXPECT_TRUE(validate_request(request, {}).ok());
}

TEST(ValidateRequest, RefusesBadUtf8InOptions) {
  DecisionRequest request = good_request();
  request.questions[0].options[0].description = "ok \xF5";
  expect_error(request, ErrorCode::kInvalidArgument, "questions[0].options[0].description", "at byte 3");
  request = good_request();
  request.questions[0].options[1].id = "\x80";
  expect_error(request, ErrorCode::kInvalidArgument, "questions[0].options[1].id", "at byte 0");
}

}  // namespace
}  // namespace assay
