#include "server/wires/wire_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

Value::Member member(const std::string& key, const std::string& json) { return {key, parse_json(json).value()}; }

Question choice(std::vector<std::string> ids) {
  Question question{.id = "q", .text = "t", .options = {}};
  for (std::string& id : ids) question.options.push_back({.id = std::move(id), .description = {}});
  return question;
}

void expect_refused(const std::string& key, const std::string& json, const std::string& part) {
  DecisionRequest request;
  QuestionFields fields;
  std::optional<Status> read = read_request_field(member(key, json), request);
  if (!read.has_value()) read = read_question_field(member(key, json), fields);
  ASSERT_TRUE(read.has_value()) << key;
  ASSERT_FALSE(read->ok()) << key << " " << json;
  EXPECT_EQ(read->error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read->error().field, key);
  EXPECT_NE(read->error().message.find(part), std::string::npos) << read->error().message;
}

TEST(RequestFields, AreReadIntoTheRequest) {
  DecisionRequest request;
  for (const auto& [key, json] : std::vector<std::pair<std::string, std::string>>{{"x_readout", "\"text\""},
                                                                                  {"x_layout", "\"question_first\""},
                                                                                  {"x_explain", "true"},
                                                                                  {"x_hidden_state", "true"},
                                                                                  {"x_receipt", "true"},
                                                                                  {"x_allowed_mass", "false"},
                                                                                  {"x_calibrated", "true"},
                                                                                  {"x_lesson", "\"refunds-2\""},
                                                                                  {"x_priority", "\"bulk\""},
                                                                                  {"x_timeout_ms", "12.5"}}) {
    const std::optional<Status> read = read_request_field(member(key, json), request);
    ASSERT_TRUE(read.has_value() && read->ok()) << key;
  }
  EXPECT_EQ(request.readout, Readout::kText);
  EXPECT_EQ(request.layout, Layout::kQuestionFirst);
  EXPECT_TRUE(request.explain && request.hidden_state && request.receipt);
  EXPECT_FALSE(request.allowed_mass);
  EXPECT_TRUE(request.calibrated);
  EXPECT_EQ(request.lesson, "refunds-2");
  EXPECT_EQ(request.priority, Priority::kBulk);
  EXPECT_EQ(request.timeout_ms, 12.5);
  EXPECT_FALSE(read_request_field(member("x_other", "1"), request).has_value());
  // In a question they would have no effect, which is not what is meant.
  QuestionFields fields;
  for (const char* key : {"x_readout", "x_calibrated", "x_lesson", "x_timeout_ms"}) {
    const std::optional<Status> read = read_question_field(member(key, "true"), fields);
    ASSERT_TRUE(read.has_value() && !read->ok()) << key;
    EXPECT_EQ(read->error().field, key);
  }
  EXPECT_FALSE(read_question_field(member("x_other", "1"), fields).has_value());
}

TEST(RequestFields, WrongValuesAreNamed) {
  expect_refused("x_readout", "\"head\"", "letters");
  expect_refused("x_layout", "3", "state_first");
  expect_refused("x_explain", "1", "true or false");
  expect_refused("x_allowed_mass", "\"yes\"", "true or false");
  expect_refused("x_priority", "\"high\"", "bulk");
  for (const char* bad : {"0", "-1", "3600001", "\"5\"", "null", "1e999999"}) {
    if (!parse_json(bad).ok()) continue;
    expect_refused("timeout_ms", bad, "milliseconds");
  }
}

TEST(RequestFields, LessonsAreCalledByTheirNames) {
  expect_refused("x_calibrated", "1", "true or false");
  for (const char* bad : {"\"\"", "\"-a\"", "\"Refunds\"", "\"a b\"", "\"../a\"", "null", "1", "\"a@\"", "\"a@0\"",
                          "\"a@01\"", "\"a@x\"", "\"@1\"", "\"a@1@1\"", "\"a@99999999999\""}) {
    expect_refused("x_lesson", bad, "1 to 64");
  }
  expect_refused("x_lesson", "\"" + std::string(65, 'a') + "\"", "1 to 64");
}

TEST(QuestionFieldsRead, TheirRangesAreChecked) {
  for (const char* bad : {"-0.1", "1.5", "\"0.5\"", "true"}) expect_refused("x_min_confidence", bad, "0 to 1");
  for (const char* bad : {"0", "1025", "1.5", "2.0", "\"2\"", "99999999999999999999"}) {
    expect_refused("x_permute", bad, "integer");
  }
  for (const char* bad : {"0", "\"\"", "null", "[]"}) expect_refused("x_none_of_these", bad, "true, false");
}

TEST(ApplyQuestionFields, TheQuestionsOwnWin) {
  QuestionFields all{.min_confidence = 0.9, .permute = 3, .none_of_these = true};
  Question plain = choice({"a", "b"});
  ASSERT_TRUE(apply_question_fields(all, {}, 10, plain).ok());
  EXPECT_EQ(plain.min_confidence, 0.9);
  EXPECT_EQ(plain.permute, 3);
  ASSERT_EQ(plain.options.size(), 3u);
  EXPECT_EQ(plain.options[2].id, "none_of_these");
  EXPECT_EQ(plain.options[2].description, "None of these");
  Question own = choice({"a", "b"});
  ASSERT_TRUE(apply_question_fields(all, {.min_confidence = 0, .permute = 1, .none_of_these = false}, 10, own).ok());
  EXPECT_EQ(own.min_confidence, 0);
  EXPECT_EQ(own.permute, 1);
  EXPECT_EQ(own.options.size(), 2u);
}

TEST(ApplyQuestionFields, WhatIsAskedOfAllTouchesWhatItCan) {
  const QuestionFields all{.permute = 8, .none_of_these = true};
  Question yes_no = choice({"yes", "no"});
  yes_no.type = QuestionType::kYesNo;
  ASSERT_TRUE(apply_question_fields(all, {}, 10, yes_no).ok());
  EXPECT_EQ(yes_no.options.size(), 2u);
  EXPECT_EQ(yes_no.permute, 2);
}

TEST(ApplyQuestionFields, RefusesWhatCannotBe) {
  const auto field = [](const QuestionFields& own, Question question, std::size_t options_max) {
    const Status applied = apply_question_fields({}, own, options_max, question);
    return applied.ok() ? "" : applied.error().field;
  };
  Question scale = choice({"0", "1", "2"});
  scale.type = QuestionType::kScale;
  EXPECT_EQ(field({.none_of_these = true}, scale, 10), "x_none_of_these");
  EXPECT_EQ(field({.none_of_these = true}, choice({"a", "none_of_these"}), 10), "x_none_of_these");
  EXPECT_EQ(field({.none_of_these = true}, choice({"a", "b"}), 2), "x_none_of_these");
  EXPECT_EQ(field({.none_of_these = true}, choice({"a", "b"}), 3), "");
  EXPECT_EQ(field({.permute = 3}, choice({"a", "b"}), 10), "x_permute");
  EXPECT_EQ(field({.permute = 3, .none_of_these = true}, choice({"a", "b"}), 10), "");
}

TEST(WireHeadersRead, AreCheckedAndNamed) {
  DecisionRequest request;
  EXPECT_TRUE(read_wire_headers({.timeout_ms = "250", .priority = "bulk"}, request).ok());
  EXPECT_EQ(request.timeout_ms, 250);
  EXPECT_EQ(request.priority, Priority::kBulk);
  for (const char* bad : {"soon", "nan", "inf", "-1", "", "1 2"}) {
    const Status read = read_wire_headers({.timeout_ms = bad, .priority = {}}, request);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.error().field, "x-timeout-ms");
  }
}

}  // namespace
}  // namespace assay::server
