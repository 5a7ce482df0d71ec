#include "service/lesson_decider.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/testing/png_file.h"
#include "service/testing/decider_fixture.h"
#include "service/testing/lessons.h"

namespace assay::service {
namespace {

namespace fs = std::filesystem;

class LessonDeciderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              (std::string("assay-decider-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    book_ = LessonBook::open(folder_.string(), "model").value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  LessonDecider make(DecisionWatcher watcher = {}) {
    fixture_ = std::make_unique<testing::Fixture>();
    return LessonDecider(std::move(fixture_->decider), *book_, std::move(watcher));
  }
  static DecisionRequest request() {
    return testing::request_of({{"info", std::nullopt}, {"refund", "Wants money back"}}, Readout::kAuto);
  }

  fs::path folder_;
  std::unique_ptr<LessonBook> book_;
  std::unique_ptr<testing::Fixture> fixture_;
};

TEST_F(LessonDeciderTest, AHeadAnswersInTheRequestsOwnOrder) {
  ASSERT_TRUE(book_->add(testing::small_lesson(), false).ok());
  LessonDecider decider = make();
  DecisionRequest asked = request();
  asked.receipt = true;
  const Result<DecisionReply> reply = decider.decide(asked);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  const Answer& answer = reply->answers.front();
  EXPECT_EQ(answer.readout, Readout::kTaught);
  EXPECT_TRUE(answer.calibrated);
  EXPECT_EQ(answer.options[0].id, "info");
  EXPECT_NEAR(answer.options[0].probability + answer.options[1].probability, 1, 1e-12);
  ASSERT_TRUE(answer.lesson.used.has_value());
  EXPECT_EQ(answer.lesson.used->name, "refunds");
  EXPECT_EQ(answer.lesson.used->version, 1);
  EXPECT_TRUE(answer.cue_states.empty());
  EXPECT_NE(answer.lesson.action, Action::kNone);

  // What the head does, by hand: the hidden state behind the cue, in the lesson's order refund, info.
  DecisionRequest plain = request();
  plain.lesson = "none";
  plain.questions[0].cues = testing::small_lesson().head->cues;
  const Result<DecisionReply> state = decider.decide(plain);
  ASSERT_TRUE(state.ok());
  ASSERT_EQ(state->answers[0].cue_states.size(), 1u);
  const double first = static_cast<double>(state->answers[0].cue_states[0][0]);
  const double refund = first + 0.25;
  const double info = -first;
  const double expected = 1 / (1 + std::exp((info - refund) / 2));
  EXPECT_NEAR(answer.options[1].probability, expected, 1e-9);
  EXPECT_FALSE(state->answers[0].lesson.used.has_value());
}

TEST_F(LessonDeciderTest, AskingForMoreDoesNotMoveTheAnswer) {
  ASSERT_TRUE(book_->add(testing::small_lesson(), false).ok());
  LessonDecider decider = make();
  const Result<DecisionReply> plain = decider.decide(request());
  DecisionRequest asked = request();
  asked.explain = true;
  std::vector<double> early;
  asked.on_answer = [&](std::size_t, const Answer& answer) { early.push_back(answer.options[1].probability); };
  const Result<DecisionReply> explained = decider.decide(asked);
  ASSERT_TRUE(plain.ok() && explained.ok());
  EXPECT_EQ(plain->answers[0].options[1].score, explained->answers[0].options[1].score);
  EXPECT_EQ(early, std::vector<double>{plain->answers[0].options[1].probability});
}

TEST_F(LessonDeciderTest, WhoeverKeepsARecordGetsAReceiptThatTheCallerDidNotAskFor) {
  ASSERT_TRUE(book_->add(testing::small_lesson(), false).ok());
  std::vector<Receipt> kept;
  LessonDecider decider = make([&kept](const DecidedRequest& decided) {
    ASSERT_TRUE(decided.reply.receipt.has_value());
    kept.push_back(*decided.reply.receipt);
    decided.reply.decision_id = "d-1";
  });
  const Result<DecisionReply> plain = decider.decide(request());
  DecisionRequest asked = request();
  asked.receipt = true;
  const Result<DecisionReply> receipted = decider.decide(asked);
  ASSERT_TRUE(plain.ok() && receipted.ok());
  EXPECT_FALSE(plain->receipt.has_value());
  EXPECT_EQ(plain->decision_id, "d-1");
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_TRUE(kept[0] == kept[1]);
  EXPECT_TRUE(kept[0] == *receipted->receipt);
}

TEST_F(LessonDeciderTest, ACalibrationIsForAnyQuestionOfItsKind) {
  Lesson lesson = testing::small_lesson("general");
  lesson.question = std::nullopt;
  lesson.head = std::nullopt;
  lesson.fallback = std::nullopt;
  lesson.calibrations[0].readout = "text";
  ASSERT_TRUE(book_->add(lesson, false).ok());
  LessonDecider decider = make();
  DecisionRequest without = request();
  without.lesson = "none";
  const Result<DecisionReply> raw = decider.decide(without);
  const Result<DecisionReply> reply = decider.decide(request());
  ASSERT_TRUE(raw.ok() && reply.ok());
  EXPECT_FALSE(raw->answers[0].calibrated);
  EXPECT_TRUE(reply->answers[0].calibrated);
  EXPECT_EQ(raw->answers[0].options[0].score, reply->answers[0].options[0].score);
  const double gap = reply->answers[0].options[0].score - reply->answers[0].options[1].score;
  EXPECT_NEAR(reply->answers[0].options[0].probability, 1 / (1 + std::exp(-gap / 2)), 1e-12);
  // Three options are none of its kind.
  DecisionRequest three = testing::request_of({{"a", {}}, {"b", {}}, {"c", {}}}, Readout::kAuto);
  const Result<DecisionReply> other = decider.decide(three);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->answers[0].calibrated);
  EXPECT_NE(other->answers[0].lesson.note, "");
  three.calibrated = true;
  EXPECT_EQ(decider.decide(three).error().field, "x_calibrated");
  three.questions[0].name = "as the caller says it";
  EXPECT_NE(decider.decide(three).error().message.find("\"as the caller says it\""), std::string::npos);
}

TEST_F(LessonDeciderTest, ChangedOptionsAreToldAndNamedLessonsRefused) {
  ASSERT_TRUE(book_->add(testing::small_lesson(), false).ok());
  LessonDecider decider = make();
  DecisionRequest changed = request();
  changed.questions[0].options.push_back({"new", std::nullopt});
  const Result<DecisionReply> reply = decider.decide(changed);
  ASSERT_TRUE(reply.ok());
  EXPECT_FALSE(reply->answers[0].lesson.used.has_value());
  EXPECT_NE(reply->answers[0].lesson.note.find("\"new\" is new"), std::string::npos) << reply->answers[0].lesson.note;
  changed.lesson = "refunds";
  EXPECT_EQ(decider.decide(changed).error().field, "lesson");
  changed.lesson = "unknown";
  EXPECT_EQ(decider.decide(changed).error().field, "lesson");
}

TEST_F(LessonDeciderTest, AVersionAskedByNameAnswersThoughAnotherIsActive) {
  Lesson lesson = testing::small_lesson();
  ASSERT_TRUE(book_->add(lesson, false).ok());
  lesson.head->bias = {0.5F, 0};
  ASSERT_TRUE(book_->add(lesson, false).ok());
  LessonDecider decider = make();
  DecisionRequest asked = request();
  EXPECT_EQ(decider.decide(asked)->answers[0].lesson.used->version, 2);
  asked.lesson = "refunds@1";
  EXPECT_EQ(decider.decide(asked)->answers[0].lesson.used->version, 1);
  for (const char* bad : {"refunds@3", "others@1", "refunds@"}) {
    asked.lesson = bad;
    EXPECT_EQ(decider.decide(asked).error().field, "lesson") << bad;
  }
}

TEST_F(LessonDeciderTest, AReadoutAskedByNameIsNotReplaced) {
  ASSERT_TRUE(book_->add(testing::small_lesson(), false).ok());
  LessonDecider decider = make();
  DecisionRequest asked = request();
  asked.readout = Readout::kText;
  const Result<DecisionReply> reply = decider.decide(asked);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->answers[0].readout, Readout::kText);
  EXPECT_NE(reply->answers[0].lesson.note, "");
  asked.lesson = "refunds";
  const Result<DecisionReply> named = decider.decide(asked);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->answers[0].readout, Readout::kTaught);
}

TEST_F(LessonDeciderTest, WithoutACalibrationAnAnswerStaysWhatItWas) {
  Lesson lesson = testing::small_lesson("general");
  lesson.question = std::nullopt;
  lesson.head = std::nullopt;
  lesson.fallback = std::nullopt;
  lesson.calibrations[0].readout = "text";
  ASSERT_TRUE(book_->add(lesson, false).ok());
  LessonDecider decider = make();
  // The mean over two orders is not the softmax of the mean scores.
  DecisionRequest asked = request();
  asked.readout = Readout::kLetters;
  asked.questions[0].permute = 2;
  const Result<DecisionReply> reply = decider.decide(asked);
  asked.lesson = "none";
  const Result<DecisionReply> plain = decider.decide(asked);
  ASSERT_TRUE(reply.ok() && plain.ok());
  EXPECT_FALSE(reply->answers[0].calibrated);
  EXPECT_EQ(reply->answers[0].options[0].probability, plain->answers[0].options[0].probability);
}

TEST_F(LessonDeciderTest, ThresholdsSayActOrEscalate) {
  Lesson lesson = testing::small_lesson();
  lesson.thresholds[0].value = 1;
  ASSERT_TRUE(book_->add(lesson, false).ok());
  LessonDecider decider = make();
  const Result<DecisionReply> reply = decider.decide(request());
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->answers[0].lesson.action, Action::kEscalate);
  EXPECT_EQ(reply->answers[0].lesson.fallback, "info");
  EXPECT_EQ(reply->answers[0].lesson.risk, 0.1);
  lesson.thresholds[0].value = 0;
  ASSERT_TRUE(book_->add(lesson, false).ok());
  const Result<DecisionReply> again = decider.decide(request());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->answers[0].lesson.used->version, 2);
  EXPECT_EQ(again->answers[0].lesson.action, Action::kAct);
  EXPECT_FALSE(again->answers[0].lesson.fallback.has_value());
}

TEST_F(LessonDeciderTest, LessonsAreNotForRequestsWithImages) {
  ASSERT_TRUE(book_->add(testing::small_lesson(), false).ok());
  LessonDecider decider = make();
  DecisionRequest asked = request();
  asked.images = {{.file = std::make_shared<const std::string>(assay::testing::png_file(16, 16)), .name = ""}};
  asked.lesson = "refunds";
  EXPECT_EQ(decider.decide(asked).error().field, "lesson");
  asked.lesson = "auto";  // no lesson; this decider has no eyes
  EXPECT_EQ(decider.decide(asked).error().field, "images");
}

TEST_F(LessonDeciderTest, ALessonOfAnotherWidthIsAnErrorAndNotACrash) {
  Lesson lesson = testing::small_lesson();
  lesson.head->width = 2;
  lesson.head->mean = lesson.head->scale = {1, 1};
  lesson.head->weights = {1, 2, 3, 4};
  ASSERT_TRUE(book_->add(lesson, false).ok());
  LessonDecider decider = make();
  EXPECT_FALSE(decider.decide(request()).ok());
}

}  // namespace
}  // namespace assay::service
