#include "server/wires/openai_error.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

Value json(const std::string& text) {
  Result<Value> value = parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? std::move(value).value() : Value();
}

// "status type code" of an error that is none of the body's.
std::string told(const Error& error) {
  const WireRefusal refusal = openai_refusal(error);
  const Value reply = json(refusal.body);
  const Value* inner = reply.find("error");
  return std::to_string(refusal.status) + " " + *inner->find("type")->string() + " " + *inner->find("code")->string();
}

TEST(OpenAiError, ErrorsHaveOpenAisWords) {
  EXPECT_EQ(told({ErrorCode::kUnauthorized, "no", ""}), "401 invalid_request_error invalid_api_key");
  EXPECT_EQ(told({ErrorCode::kNotFound, "no", "model"}), "404 invalid_request_error model_not_found");
  EXPECT_EQ(told({ErrorCode::kNotFound, "no route", ""}), "404 invalid_request_error not_found");
  EXPECT_EQ(told({ErrorCode::kMediaType, "no", ""}), "415 invalid_request_error media_type");
  EXPECT_EQ(told({ErrorCode::kTooLong, "the body", ""}), "413 invalid_request_error too_long");
  EXPECT_EQ(told({ErrorCode::kTooLong, "tokens", "input"}), "400 invalid_request_error context_length_exceeded");
  for (const char* field : {"questions[0].instructions", "questions[0].choices", "questions[0].choices[1].description"})
    EXPECT_EQ(told({ErrorCode::kTooLong, "tokens", field}), "400 invalid_request_error context_length_exceeded");
  EXPECT_EQ(told({ErrorCode::kTooLong, "id", "questions[0].choices[1].value"}), "400 invalid_request_error too_long");
  EXPECT_EQ(told({ErrorCode::kTooBusy, "late", ""}), "429 rate_limit_error too_busy");
  EXPECT_EQ(told({ErrorCode::kOverloaded, "full", ""}), "503 service_unavailable_error overloaded");
  EXPECT_EQ(told({ErrorCode::kUnavailable, "loading", ""}), "503 service_unavailable_error unavailable");
  EXPECT_EQ(told({ErrorCode::kDeadline, "late", ""}), "504 server_error deadline");
  EXPECT_EQ(told({ErrorCode::kNonfiniteLogits, "nan", ""}), "500 server_error nonfinite_logits");
  const WireRefusal busy = openai_refusal({ErrorCode::kTooBusy, "late", "", 2.5});
  EXPECT_EQ(busy.retry_after_seconds, 2.5);
  EXPECT_EQ(busy.code, ErrorCode::kTooBusy);
}

TEST(OpenAiError, TheMessageBeginsWithTheFieldAndBothMayHoldAnything) {
  const Value reply = json(openai_refusal({ErrorCode::kInvalidArgument, "is \xff bad", "a\"b"}).body);
  const Value* error = reply.find("error");
  EXPECT_EQ(*error->find("param")->string(), "a\"b");
  EXPECT_EQ(*error->find("message")->string(), "a\"b is \xEF\xBF\xBD bad");
  const Value none = json(openai_refusal({ErrorCode::kInvalidArgument, "bad", ""}).body);
  EXPECT_TRUE(none.find("error")->find("param")->is_null());
}

TEST(OpenAiError, ASentenceStandsBehindAColon) {
  const auto message = [](const Error& error) {
    const Value reply = json(openai_refusal(error).body);
    return *reply.find("error")->find("message")->string();
  };
  EXPECT_EQ(message({ErrorCode::kTooLong, "The prompt has 9 tokens; the limit is 8.", "input"}),
            "input: The prompt has 9 tokens; the limit is 8.");
  EXPECT_EQ(message({ErrorCode::kInvalidArgument, "is missing", "input"}), "input is missing");
}

}  // namespace
}  // namespace assay::server
