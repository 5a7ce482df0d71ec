#include "server/lesson_bodies.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::server {
namespace {

TEST(LessonName, IsWhatCanBeAFilesName) {
  for (const char* good : {"a", "0", "refunds", "refunds-2", "a_b", "auto"}) EXPECT_TRUE(is_lesson_name(good)) << good;
  for (const char* bad : {"", "-a", "_a", "A", "a b", "a/b", "..", "\xC3\xA9"})
    EXPECT_FALSE(is_lesson_name(bad)) << bad;
  EXPECT_TRUE(is_lesson_name(std::string(64, 'a')));
  EXPECT_FALSE(is_lesson_name(std::string(65, 'a')));
}

TEST(FeedbackBody, IsOneOrAList) {
  Result<FeedbackBody> one = read_feedback_body(R"({"decision_id": "d", "option": "a"})");
  ASSERT_TRUE(one.ok());
  EXPECT_TRUE(one->single);
  EXPECT_EQ(one->list.at(0).decision_id, "d");
  EXPECT_EQ(one->list.at(0).question_id, "");
  const Result<FeedbackBody> list =
      read_feedback_body(R"([{"decision_id": "d", "question_id": "q", "option": "a", "note": "n"}, {"option": "b",)"
                         R"("decision_id": "e"}])");
  ASSERT_TRUE(list.ok());
  EXPECT_FALSE(list->single);
  ASSERT_EQ(list->list.size(), 2u);
  EXPECT_EQ(list->list[0].question_id + list->list[0].note + list->list[1].option, "qnb");
}

struct BadBody {
  std::string body;
  std::string field;
  std::string part;
};

TEST(FeedbackBody, WhatIsWrongIsNamed) {
  const std::vector<BadBody> bodies = {
      {"", "", ""},
      {"3", "", "the body must be a JSON object"},
      {"[]", "", "at least 1"},
      {"[3]", "[0]", "must be a JSON object"},
      {R"({"option": "a"})", "decision_id", "decision_id is missing"},
      {R"({"decision_id": "d"})", "option", "option is missing"},
      {R"({"decision_id": 3, "option": "a"})", "decision_id", "must be a string"},
      {R"({"decision_id": "", "option": "a"})", "decision_id", "must not be empty"},
      {R"({"decision_id": "d", "option": "a", "label": "a"})", "label", "is not known here"},
      {R"({"decision_id": "d", "option": "a", "note": null})", "note", "must be a string"},
      {R"([{"decision_id": "d", "option": "a"}, {"decision_id": "d", "option": ["a"]}])", "[1].option", "a string"}};
  for (const BadBody& bad : bodies) {
    const Result<FeedbackBody> read = read_feedback_body(bad.body);
    ASSERT_FALSE(read.ok()) << bad.body;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(read.error().field, bad.field) << bad.body;
    EXPECT_NE(read.error().message.find(bad.part), std::string::npos) << read.error().message;
  }
}

TEST(FeedbackBody, HasLimits) {
  const auto code = [](const std::string& body) {
    const Result<FeedbackBody> read = read_feedback_body(body);
    return read.ok() ? "" : error_name(read.error().code) + std::string(" ") + read.error().field;
  };
  const auto with = [](const std::string& note) {
    return R"({"decision_id": "d", "option": "a", "note": ")" + note + "\"}";
  };
  EXPECT_EQ(code(with(std::string(4096, 'x'))), "");
  EXPECT_EQ(code(with(std::string(4097, 'x'))), "too_long note");
  EXPECT_EQ(code(R"({"decision_id": "d", "option": ")" + std::string(4097, 'x') + "\"}"), "too_long option");
  std::string list = "[" + with("");
  for (int i = 1; i < 1000; i++) list += "," + with("");
  EXPECT_EQ(code(list + "]"), "");
  EXPECT_EQ(code(list + "," + with("") + "]"), "too_long ");
}

TEST(FitBody, HasDefaultsAndRanges) {
  for (const char* body : {"", "{}"}) {
    const Result<FitOptions> read = read_fit_body(body);
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->risk.has_value());
    EXPECT_EQ(read->level, 0.9);
    EXPECT_EQ(read->method, "auto");
    EXPECT_FALSE(read->shadow);
  }
  const Result<FitOptions> all = read_fit_body(R"({"risk": 0.05, "level": 0.95, "method": "lda", "shadow": true})");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all->risk, 0.05);
  EXPECT_EQ(all->level, 0.95);
  EXPECT_EQ(all->method, "lda");
  EXPECT_TRUE(all->shadow);
  const Result<FitOptions> add = read_fit_body(R"({"method": "add", "without_thresholds": true})");
  ASSERT_TRUE(add.ok());
  EXPECT_EQ(add->method, "add");
  EXPECT_TRUE(add->without_thresholds);
  EXPECT_FALSE(all->without_thresholds);
  const std::vector<BadBody> bodies = {
      {R"({"risk": 0})", "risk", "above 0 and below 1"},
      {R"({"risk": 1.0})", "risk", "above 0 and below 1"},
      {R"({"risk": "0.05"})", "risk", "above 0 and below 1"},
      {R"({"level": 1})", "level", "above 0 and below 1"},
      {R"({"method": "svm"})", "method", "\"ridge\""},
      {R"({"method": "svm"})", "method", "\"update\" or \"add\""},
      {R"({"without_thresholds": true})", "without_thresholds", "the method \"add\""},
      {R"({"method": "add", "without_thresholds": 1})", "without_thresholds", "true or"},
      {R"({"shadow": 1})", "shadow", "true or false"},
      {R"({"risks": 0.05})", "risks", "risk, level, method, shadow, without_thresholds"},
      {"[]", "", "the body must be a JSON object"}};
  for (const BadBody& bad : bodies) {
    const Result<FitOptions> read = read_fit_body(bad.body);
    ASSERT_FALSE(read.ok()) << bad.body;
    EXPECT_EQ(read.error().field, bad.field) << bad.body;
    EXPECT_NE(read.error().message.find(bad.part), std::string::npos) << read.error().message;
  }
}

TEST(ActivateBody, NeedsAVersion) {
  EXPECT_EQ(read_activate_body(R"({"version": 3})").value(), 3);
  for (const char* bad : {"", "{}", R"({"version": 0})", R"({"version": 1.0})", R"({"version": "1"})",
                          R"({"version": 99999999999})", R"({"version": 1, "force": true})"}) {
    EXPECT_EQ(read_activate_body(bad).error().code, ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(PromoteBody, MayForce) {
  EXPECT_FALSE(read_promote_body("").value());
  EXPECT_TRUE(read_promote_body(R"({"force": true})").value());
  EXPECT_EQ(read_promote_body(R"({"force": "yes"})").error().field, "force");
}

}  // namespace
}  // namespace assay::server
