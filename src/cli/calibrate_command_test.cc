#include "cli/calibrate_command.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/teach_command.h"
#include "cli/testing/fake_decider.h"
#include "cli/testing/temp_dir.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

class LearnCommandTest : public ::testing::Test {
 protected:
  LearnCommandTest() {
    calibrate_.model.model = teach_.model.model = "fake.gguf";
    calibrate_.learn.output = dir_.path("c.lesson.json");
    teach_.learn.name = "t";
    teach_.learn.output = dir_.path("t.lesson.json");
    fake_.model.id = "fake";
    fake_.model.sha256 = "of the fake";
  }

  // Rows of which the fake gets `right` of `all` right.
  std::string rows(int right, int all) {
    std::string text;
    for (int i = 0; i < all; i++) {
      text += R"({"state": "pick b )" + std::to_string(i) +
              R"(", "question": "Q", "options": ["a", "b"], "expected": ")" + (i < right ? "b" : "a") + "\"}\n";
    }
    return dir_.write("rows.jsonl", text);
  }

  int calibrate() {
    std::istringstream in;
    out_.str("");
    err_.str("");
    Streams streams{.in = in, .out = out_, .err = err_};
    return run_calibrate(calibrate_, streams, {.clock = clock_, .stop = stop_}, open_fake(fake_));
  }
  int teach() {
    std::istringstream in;
    err_.str("");
    Streams streams{.in = in, .out = out_, .err = err_};
    return run_teach(teach_, streams, {.clock = clock_, .stop = stop_}, open_fake(fake_));
  }

  TempDir dir_;
  CalibrateFlags calibrate_;
  TeachFlags teach_;
  FakeDecider fake_;
  ManualClock clock_;
  std::atomic<bool> stop_{false};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(LearnCommandTest, CalibrateWritesALessonForTheOneQuestionOfAllRows) {
  calibrate_.rows.files = {rows(60, 100)};
  calibrate_.learn.json = true;
  calibrate_.learn.risk = "0.5";
  calibrate_.learn.report = dir_.path("c.html");
  ASSERT_EQ(calibrate(), 0) << err_.str();
  const Value told = *server::parse_json(out_.str());
  EXPECT_EQ(told.find("rows")->integer()->digits, "100");
  // The fake says 0.7 and is right in 0.6.
  EXPECT_NEAR(*told.find("before")->find("ece")->number(), 0.1, 1e-9);
  EXPECT_LT(*told.find("after")->find("ece")->number(), 0.06);
  const Result<Lesson> lesson = lesson_from_text(dir_.read("c.lesson.json"));
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  EXPECT_EQ(lesson->model_sha256, "of the fake");
  EXPECT_EQ(lesson->question->text, "Q");
  EXPECT_GT(lesson->calibrations.at(0).temperature, 1);
  EXPECT_EQ(lesson->thresholds.size(), 1u);
  EXPECT_NE(dir_.read("c.html").find("<svg"), std::string::npos);
}

TEST_F(LearnCommandTest, WhatChanceMakesOfTheErrorStandsBesideIt) {
  calibrate_.rows.files = {rows(60, 100)};
  calibrate_.learn.report = dir_.path("c.html");
  ASSERT_EQ(calibrate(), 0) << err_.str();
  EXPECT_NE(out_.str().find("a perfectly calibrated answerer of these 100 rows would show 0.0"), std::string::npos)
      << out_.str();
  EXPECT_NE(dir_.read("c.html").find("a perfectly calibrated answerer of these 100 rows"), std::string::npos);
  calibrate_.learn.json = true;
  ASSERT_EQ(calibrate(), 0) << err_.str();
  const Value told = *server::parse_json(out_.str());
  const double mean = *told.find("ece_by_chance")->find("mean")->number();
  // One bin of 100 rows at 0.6: sqrt(2 / pi) * sqrt(0.24 / 100).
  EXPECT_NEAR(mean, 0.039, 0.006);
  EXPECT_GT(*told.find("ece_by_chance")->find("high")->number(), mean);
  EXPECT_EQ(*told.find("after")->find("ece_debiased")->number(), 0);
}

TEST_F(LearnCommandTest, AHorizonGoesIntoTheLessonAndNeedsARisk) {
  calibrate_.rows.files = {rows(95, 100)};
  calibrate_.learn.risk = "0.3";
  calibrate_.learn.risk_horizon = 50;
  ASSERT_EQ(calibrate(), 0) << err_.str();
  EXPECT_NE(out_.str().find("risk 30.0 % of the next 50 acted on at confidence 90.0 %"), std::string::npos)
      << out_.str();
  const Result<Lesson> lesson = lesson_from_text(dir_.read("c.lesson.json"));
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  EXPECT_EQ(lesson->thresholds.at(0).horizon, 50U);
  EXPECT_TRUE(lesson->thresholds.at(0).value.has_value());
  calibrate_.learn.risk = "";
  EXPECT_EQ(calibrate(), 2);
  EXPECT_NE(err_.str().find("--risk-horizon"), std::string::npos) << err_.str();
}

TEST_F(LearnCommandTest, TooFewRowsForARiskSayHowManyMore) {
  calibrate_.rows.files = {rows(20, 20)};
  calibrate_.learn.risk = "0.05";
  ASSERT_EQ(calibrate(), 0) << err_.str();
  EXPECT_NE(out_.str().find("not yet: about "), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find(" more labelled rows are needed (20 are there)"), std::string::npos) << out_.str();
  const Threshold threshold = lesson_from_text(dir_.read("c.lesson.json"))->thresholds.at(0);
  EXPECT_FALSE(threshold.value.has_value());
  EXPECT_GE(threshold.rows + threshold.rows_missing, 45U);  // 0.95^45 < 0.1
}

TEST_F(LearnCommandTest, RowsOfSeveralQuestionsMakeALessonForTheirKind) {
  calibrate_.rows.files = {dir_.write("two.jsonl",
                                      R"({"state": "pick b", "question": "Q", "options": ["a", "b"], "expected": "b"})"
                                      "\n"
                                      R"({"state": "pick b", "question": "R", "options": ["a", "b"], "expected": "a"})"
                                      "\n")};
  ASSERT_EQ(calibrate(), 0) << err_.str();
  EXPECT_FALSE(lesson_from_text(dir_.read("c.lesson.json"))->question.has_value());
}

TEST_F(LearnCommandTest, BadRowsAndFlagsAreNamed) {
  calibrate_.rows.files = {
      dir_.write("bad.jsonl", R"({"state": "s", "question": "Q", "options": ["a"], "expected": "b"})")};
  EXPECT_EQ(calibrate(), 2);
  EXPECT_NE(err_.str().find("row 1"), std::string::npos) << err_.str();
  calibrate_.rows.files = {rows(1, 2)};
  calibrate_.learn.risk = "1.5";
  EXPECT_EQ(calibrate(), 2);
  EXPECT_NE(err_.str().find("--risk"), std::string::npos);
  calibrate_.learn.risk = "";
  calibrate_.learn.risk_by_option = true;
  EXPECT_EQ(calibrate(), 2);
  calibrate_.learn.risk_by_option = false;
  calibrate_.learn.name = "No Name";
  EXPECT_EQ(calibrate(), 2);
}

TEST_F(LearnCommandTest, OneStateWithTwoLabelsEndsIt) {
  calibrate_.rows.files = {dir_.write("two.jsonl",
                                      R"({"state": "s", "question": "Q", "options": ["a", "b"], "expected": "b"})"
                                      "\n"
                                      R"({"state": "s", "question": "Q", "options": ["a", "b"], "expected": "a"})"
                                      "\n")};
  EXPECT_EQ(calibrate(), 2);
  EXPECT_NE(err_.str().find("row 2"), std::string::npos) << err_.str();
  EXPECT_NE(err_.str().find("row 1"), std::string::npos) << err_.str();
}

TEST_F(LearnCommandTest, TheLabelsAreTheOptionsWhereNobodyNamesThem) {
  LabelledFiles files{.files = {dir_.write("l.jsonl", R"({"state": "s", "expected": "x"})"
                                                      "\n"
                                                      R"({"state": "t", "expected": "y"})"
                                                      "\n")},
                      .question = {.question = "Q", .options = {}}};
  std::istringstream in;
  const Result<std::vector<LabelledQuestion>> read = read_labelled(files, in);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[1].question.options.size(), 2u);
  EXPECT_EQ((*read)[1].expected, 1u);
}

TEST_F(LearnCommandTest, TeachRefusesWhatCannotBeTaught) {
  teach_.rows.files = {rows(2, 2)};
  EXPECT_EQ(teach(), 2);
  EXPECT_NE(err_.str().find("one label"), std::string::npos) << err_.str();
  teach_.rows.files = {rows(1, 2)};
  teach_.cues = {"no mark"};
  EXPECT_EQ(teach(), 2);
  EXPECT_NE(err_.str().find("cue"), std::string::npos) << err_.str();
  teach_.cues = {};
  teach_.keep_rows = true;
  EXPECT_EQ(teach(), 2);
  EXPECT_NE(err_.str().find("--keep-rows"), std::string::npos) << err_.str();
}

TEST_F(LearnCommandTest, AModelWithoutHiddenStatesCannotBeTaught) {
  teach_.rows.files = {rows(5, 10)};
  teach_.zero_shot_rows = 0;
  EXPECT_NE(teach(), 0);
  EXPECT_NE(err_.str().find("hidden states"), std::string::npos) << err_.str();
}

}  // namespace
}  // namespace assay::cli
