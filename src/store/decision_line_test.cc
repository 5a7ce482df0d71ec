#include "store/decision_line.h"

#include <gtest/gtest.h>

#include "store/testing/store_fixture.h"

namespace assay::store {
namespace {

TEST(UtcText, CountsFromTheEpoch) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_text(951'782'400'007), "2000-02-29T00:00:00.007Z");
  EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59.999Z");
}

TEST(DecisionLine, HoldsWhatVerifyReads) {
  DecisionRecord record = plain_record("d1", R"({"text": "café"})");
  record.state_sha256 = std::string(64, 'b');
  record.answers[0].fingerprint = std::string(64, 'c');
  record.answers[0].label = Label{.option = 1, .note = "by phone", .time_ms = 0, .corrections = 2};
  const std::string expected =
      R"({"id": "d1", "time": "2023-11-14T22:13:20.123Z", "request": {"decision": {"id": "q1", "state": {"text": "café"}, )"
      R"("question": "What does the customer want?", "type": "choice", "options": [{"id": "refund", "description": )"
      R"("Wants money back"}, {"id": "info"}]}, "x_readout": "letters", "x_layout": "state_first", "x_lesson": "none"}, "receipt": )";
  const Result<std::string> line = decision_line(record);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->substr(0, expected.size()), expected);
  const std::string end =
      R"("best": "refund", "confidence": 0.5, "abstained": false, "calibrated": false, "readout": "letters", )"
      R"("layout": "state_first", "prompt_version": "direct-options-v1", "prompt_sha256": ")" +
      std::string(64, 'a') +
      R"(", "feedback": {"option": "info", "time": "1970-01-01T00:00:00.000Z", "corrections": 2, "note": "by phone"}}]})";
  EXPECT_TRUE(line->ends_with(end)) << *line;
  EXPECT_NE(line->find(R"({"id": "refund", "description": "Wants money back", "score": 2.5, "probability": 0.75})"),
            std::string::npos);
}

TEST(DecisionLine, SeveralQuestionsAreOneRequest) {
  DecisionRecord record = plain_record("d1", R"("s")");
  record.allowed_mass = false;
  record.answers.push_back(plain_answer("q2"));
  record.answers[1].readout = Readout::kText;
  record.answers[1].permute = 2;
  record.answers[1].min_confidence = 0.5;
  const std::string line = decision_line(record).value();
  EXPECT_NE(line.find(R"("decisions": [{"id": "q1", "state": "s", )"), std::string::npos);
  EXPECT_NE(line.find(R"({"id": "q2", "state": "s", )"), std::string::npos);
  EXPECT_NE(line.find(R"("x_min_confidence": 0.5, "x_permute": 2})"), std::string::npos);
  EXPECT_NE(
      line.find(R"(], "x_readout": "auto", "x_layout": "state_first", "x_lesson": "none", "x_allowed_mass": false})"),
      std::string::npos);
}

TEST(DecisionLine, TheLessonThatAnsweredIsAskedAgain) {
  DecisionRecord record = plain_record("d1");
  record.answers[0].readout = Readout::kTaught;
  EXPECT_NE(decision_line(record).value().find(R"("x_readout": "auto")"), std::string::npos);
  record.readout = Readout::kLetters;
  EXPECT_NE(decision_line(record).value().find(R"("x_readout": "letters")"), std::string::npos);
  record.answers[0].lesson.used = LessonUse{.name = "refunds", .version = 3, .sha256 = "ab", .taught = true};
  EXPECT_NE(decision_line(record).value().find(R"("x_lesson": "refunds@3"})"), std::string::npos);
  record.answers.push_back(plain_answer("q2"));
  EXPECT_EQ(decision_line(record).value().find("x_lesson"), std::string::npos);
}

TEST(DecisionLine, AnExplainedHeadIsAskedForAnExplanationAgain) {
  DecisionRecord record = plain_record("d1");
  record.answers[0].readout = Readout::kTaught;
  EXPECT_EQ(decision_line(record).value().find("x_explain"), std::string::npos);
  record.answers[0].zero_shot_scores = {1, 2};
  EXPECT_NE(decision_line(record).value().find(R"("x_explain": true})"), std::string::npos);
  record.allowed_mass = false;
  EXPECT_EQ(decision_line(record).value().find("x_explain"), std::string::npos);
  record.allowed_mass = true;
  record.answers.push_back(plain_answer("q2"));
  EXPECT_NE(decision_line(record).value().find(R"("x_explain": true})"), std::string::npos);
  record.answers[1].readout = Readout::kTaught;  // a head that was not: none was asked to be explained
  EXPECT_EQ(decision_line(record).value().find("x_explain"), std::string::npos);
}

TEST(DecisionLine, WithoutTextsThereIsNoRequest) {
  DecisionRecord record = plain_record("d1", "");
  record.answers[0].question.clear();
  EXPECT_EQ(decision_line(record).value().find("request"), std::string::npos);
}

TEST(DecisionLine, RefusesWhatIsNoText) {
  DecisionRecord record = plain_record("d1");
  record.answers[0].question_id = "\xFF";
  EXPECT_EQ(decision_line(record).error().code, ErrorCode::kIo);
}

class ExportTest : public StoreTest {};

TEST_F(ExportTest, GivesEveryDecisionOnceInOrder) {
  DecisionStore& store = open();
  for (int i = 0; i < 600; i++) store.record(plain_record("d" + std::to_string(i)));
  int lines = 0;
  ASSERT_TRUE(store
                  .export_lines({},
                                [&lines](std::string_view line) {
                                  EXPECT_TRUE(line.starts_with("{\"id\": \"d" + std::to_string(lines) +
                                                               "\", \"place\": " + std::to_string(lines + 1) + ","));
                                  ++lines;
                                  return true;
                                })
                  .ok());
  EXPECT_EQ(lines, 600);
  lines = 0;
  ASSERT_TRUE(store.export_lines({}, [&lines](std::string_view) { return ++lines < 3; }).ok());
  EXPECT_EQ(lines, 3);
}

TEST_F(ExportTest, GoesOnBehindAPlaceAlsoWhenThatDecisionIsGone) {
  DecisionStore& store = open();
  for (int i = 1; i <= 5; i++) store.record(plain_record("d" + std::to_string(i)));
  for (const char* id : {"d2", "d4"}) {
    ASSERT_TRUE(store.add_feedback({.decision_id = id, .question_id = "", .option = "info", .note = ""}).ok());
  }
  const auto ids = [&store](const ExportQuery& query) {
    std::string out;
    EXPECT_TRUE(store
                    .export_lines(query,
                                  [&out](std::string_view line) {
                                    out += line.substr(8, 2);
                                    return true;
                                  })
                    .ok());
    return out;
  };
  EXPECT_EQ(ids({.after = 3}), "d4d5");
  EXPECT_EQ(ids({.after = 1, .limit = 2}), "d2d3");
  EXPECT_EQ(ids({.labelled_only = true}), "d2d4");
  EXPECT_EQ(ids({.after = 2, .limit = 7, .labelled_only = true}), "d4");
  EXPECT_EQ(ids({.after = 5}), "");
  ASSERT_TRUE(store.forget("d3").value());
  EXPECT_EQ(ids({.after = 3}), "d4d5");
}

TEST_F(ExportTest, AFileIsReadWhileAStoreKeepsItAndNothingIsMade) {
  DecisionStore& store = open();
  store.record(plain_record("d1"));
  ASSERT_TRUE(store.flush().ok());
  int lines = 0;
  const auto count = [&lines](std::string_view) { return ++lines > 0; };
  EXPECT_TRUE(DecisionStore::export_file(path(), {}, count).ok());
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(DecisionStore::export_file(folder_ + "/none.sqlite", {}, count).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/none.sqlite"));
  EXPECT_EQ(DecisionStore::export_file(folder_, {}, count).error().code, ErrorCode::kNotFound);
  std::ofstream(folder_ + "/text.sqlite") << "no database at all, but long enough to be looked at by whoever asks";
  EXPECT_FALSE(DecisionStore::export_file(folder_ + "/text.sqlite", {}, count).ok());
  EXPECT_EQ(lines, 1);
}

}  // namespace
}  // namespace assay::store
