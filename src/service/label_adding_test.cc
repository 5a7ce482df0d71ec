// Labels that go into the active version's head one by one: what comes of it, and when it is refused.
#include "service/label_adding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "service/testing/full_disk.h"
#include "service/testing/office_fixture.h"
#include "teach/apply.h"

namespace assay::service {
namespace {

class LabelAddingTest : public testing::LessonOfficeTest {
 protected:
  // Version 2, fitted by lda to twelve labels.
  void start_with_twelve(const FitOptions& options = {.method = "update"}) {
    start();
    ids_ = label_twelve();
    const Result<Value> fitted = office_->fit("refunds", options);
    ASSERT_TRUE(fitted.ok()) << fitted.error().message;
    ASSERT_EQ(number(*fitted, "version"), 2);
    EXPECT_EQ(text(*fitted, "method"), options.method);
    EXPECT_EQ(number(*fitted, "calibrated_at_version"), 2);
  }
  Value add(const FitOptions& options = {.method = "add"}) {
    const Result<Value> added = office_->fit("refunds", options);
    EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().message);
    return added.ok() ? *added : Value();
  }
  Error refusal(const FitOptions& options = {.method = "add"}) {
    const Result<Value> added = office_->fit("refunds", options);
    EXPECT_FALSE(added.ok());
    return added.ok() ? Error{} : added.error();
  }
  void say(const std::string& state, const std::string& option) { label(decide(state), option); }
  Lesson version(int number) const {
    return lesson_from_text(office_->export_lesson("refunds", number).value()).value();
  }
  static std::string text(const Value& view, const char* member) {
    const Value* value = view.find(member);
    return value == nullptr || value->string() == nullptr ? "" : *value->string();
  }
  // Two heads that say the same, but for rounding.
  static void expect_same_scores(const LinearHead& a, const LinearHead& b) {
    for (int i = 0; i < 20; i++) {
      std::vector<float> x;
      for (std::size_t d = 0; d < a.width; d++)
        x.push_back(std::sin(static_cast<float>(i) * 7 + static_cast<float>(d)));
      const auto one = teach::head_scores(a, x, 2, {});
      const auto other = teach::head_scores(b, x, 2, {});
      ASSERT_TRUE(one.ok() && other.ok());
      for (std::size_t k = 0; k < 2; k++) EXPECT_NEAR((*one)[k], (*other)[k], 1e-4 * (1 + std::abs((*other)[k])));
    }
  }

  std::vector<std::string> ids_;
};

TEST_F(LabelAddingTest, ALabelMakesTheNextVersionWithoutAWholeFit) {
  start_with_twelve();
  say("one more", "info");
  const Value first = add();
  EXPECT_EQ(text(first, "method"), "add");
  EXPECT_EQ(number(first, "version"), 3);
  EXPECT_EQ(number(first, "labels"), 13);
  EXPECT_EQ(number(first, "rows_added"), 1);
  EXPECT_EQ(number(first, "rows_left_out"), 0);
  EXPECT_EQ(number(first, "rows_kept"), 15);  // the teacher was opened: all rows and the words of two options
  EXPECT_EQ(number(first, "calibrated_at_version"), 2);
  say("and another", "refund");
  const std::uint64_t before = rows_computed();
  const Value second = add();
  EXPECT_EQ(number(second, "version"), 4);
  EXPECT_EQ(number(second, "rows_added"), 1);
  EXPECT_EQ(number(second, "rows_kept"), 1);  // and this time the new one alone is looked at
  EXPECT_EQ(number(second, "rows_read"), 0);
  EXPECT_EQ(rows_computed(), before);
  EXPECT_EQ(number(second, "calibrated_at_version"), 2);

  const Lesson fitted = version(2);
  const Lesson grown = version(4);
  EXPECT_EQ(grown.growth->calibrated_at_version, 2);
  EXPECT_EQ(grown.growth->labels, 12u);
  EXPECT_EQ(grown.calibrations[0].temperature, fitted.calibrations[0].temperature);
  EXPECT_EQ(grown.head->mean, fitted.head->mean);
  EXPECT_EQ(grown.head->lambda, fitted.head->lambda);
  EXPECT_EQ(grown.head->sharpness, fitted.head->sharpness);
  EXPECT_EQ(grown.head->cues, fitted.head->cues);
  EXPECT_NE(grown.head->weights, fitted.head->weights);
  EXPECT_EQ(grown.labels_by_option[0].second, 7u);

  // The same rows all at once, after a restart: the teacher is made of what is labelled, not of what was in memory.
  start();
  ASSERT_TRUE(office_->activate("refunds", 2).ok());
  const Value again = add();
  EXPECT_EQ(number(again, "version"), 5);
  EXPECT_EQ(number(again, "rows_added"), 2);
  EXPECT_EQ(number(again, "rows_read"), 0);
  expect_same_scores(*version(5).head, *grown.head);
}

TEST_F(LabelAddingTest, TheVersionsFileAnswersWithTheSameBitsAfterARestart) {
  start_with_twelve();
  say("one more", "info");
  add();
  const auto answer = [this] {
    const Result<DecisionReply> reply = office_->decider().decide(asked("something else"));
    EXPECT_TRUE(reply.ok() && reply->answers[0].lesson.used);
    EXPECT_EQ(reply->answers[0].lesson.used->version, 3);
    EXPECT_TRUE(reply->answers[0].calibrated);
    return testing::numbers_of(*reply);
  };
  const std::vector<double> before = answer();
  start();
  EXPECT_EQ(answer(), before);
}

TEST_F(LabelAddingTest, AQuarterMoreLabelsIsAWholeFit) {
  start_with_twelve();
  for (const char* state : {"first", "second"}) {
    say(state, "info");
    EXPECT_EQ(text(add(), "method"), "add");
  }
  say("third", "refund");
  const Value whole = add();
  EXPECT_EQ(text(whole, "method"), "update");
  EXPECT_EQ(number(whole, "version"), 5);
  EXPECT_EQ(number(whole, "labels"), 15);
  EXPECT_EQ(number(whole, "calibrated_at_version"), 5);
  EXPECT_FALSE(version(5).growth.has_value());
  // From there the next label is added again, also where all of it is found anew.
  start();
  say("fourth", "refund");
  const Value next = add();
  EXPECT_EQ(text(next, "method"), "add");
  EXPECT_EQ(number(next, "calibrated_at_version"), 5);
  EXPECT_EQ(version(6).growth->labels, 15u);
}

TEST_F(LabelAddingTest, ThresholdsAreNotCarriedOverUnlessOneDoesWithout) {
  start_with_twelve({.risk = 0.3, .method = "update"});
  ASSERT_EQ(version(2).thresholds.size(), 1u);
  say("one more", "info");
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.field, "without_thresholds");
  EXPECT_NE(error.message.find("\"update\""), std::string::npos) << error.message;
  EXPECT_EQ(refusal({.risk = 0.3, .method = "add", .without_thresholds = true}).field, "risk");
  add({.method = "add", .without_thresholds = true});
  EXPECT_TRUE(version(3).thresholds.empty());
  EXPECT_EQ(version(3).fallback, version(2).fallback);
  const Result<DecisionReply> reply = office_->decider().decide(asked("something else"));
  EXPECT_EQ(reply->answers[0].lesson.action, Action::kNone);
  EXPECT_FALSE(reply->answers[0].lesson.threshold.has_value());
  // A whole fit keeps the promise of the one that the version grew from.
  ASSERT_TRUE(office_->fit("refunds", {.method = "update"}).ok());
  ASSERT_EQ(version(4).thresholds.size(), 1u);
  EXPECT_EQ(version(4).thresholds[0].risk, 0.3);
}

TEST_F(LabelAddingTest, WhatCannotGrowIsRefusedWithWhatCanBeDone) {
  start();
  label_twelve();
  Error error = refusal();  // a file of an earlier version
  EXPECT_EQ(error.field, "method");
  EXPECT_NE(error.message.find("lambda"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("\"update\""), std::string::npos) << error.message;
  ASSERT_TRUE(office_->fit("refunds", {.method = "ridge"}).ok());
  error = refusal();
  EXPECT_EQ(error.field, "method");
  EXPECT_NE(error.message.find("ridge"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("\"update\""), std::string::npos) << error.message;
  ASSERT_TRUE(office_->fit("refunds", {.method = "calibrate"}).ok());
  error = refusal();
  EXPECT_EQ(error.field, "method");
  EXPECT_NE(error.message.find("\"calibrate\""), std::string::npos) << error.message;
}

TEST_F(LabelAddingTest, NothingNewIsNoNewVersion) {
  start_with_twelve();
  say("one more", "info");
  EXPECT_EQ(number(add(), "version"), 3);
  const Value again = add();
  EXPECT_EQ(text(again, "method"), "add");
  EXPECT_EQ(number(again, "version"), 3);
  EXPECT_EQ(number(again, "rows_added"), 0);
  // A label of another question, and one that was there: neither is a row more.
  DecisionRequest other = asked("one more");
  other.questions[0].text = "something else";
  label(office_->decider().decide(other)->decision_id, "refund");
  say("one more", "info");
  EXPECT_EQ(number(add(), "version"), 3);
  EXPECT_EQ(office_->export_lesson("refunds", 4).error().field, "version");
}

TEST_F(LabelAddingTest, OptionsInAnotherOrderAreTheSameQuestion) {
  start_with_twelve();
  say("one more", "info");
  add();
  DecisionRequest turned = asked("the other way round");
  std::swap(turned.questions[0].options[0], turned.questions[0].options[1]);
  label(office_->decider().decide(turned)->decision_id, "refund");
  const Value added = add();
  EXPECT_EQ(number(added, "rows_added"), 1);
  EXPECT_EQ(version(4).labels_by_option[0].second, 7u);
}

TEST_F(LabelAddingTest, ACorrectionAndAForgottenDecisionAreLearntFromAllRows) {
  start_with_twelve();
  say("one more", "info");
  add();
  label(ids_[0], "info");  // it was refund
  const Value corrected = add();
  EXPECT_EQ(number(corrected, "version"), 4);
  EXPECT_EQ(number(corrected, "rows_added"), 0);
  EXPECT_EQ(number(corrected, "rows_kept"), 15);
  EXPECT_EQ(version(4).labels_by_option[0].second, 5u);
  // The same state again, with another word: the later one counts.
  say("one more", "refund");
  EXPECT_EQ(number(add(), "rows_kept"), 15);
  EXPECT_EQ(version(5).labels_by_option[0].second, 6u);

  ASSERT_TRUE(office_->forget(ids_[2]).value());
  EXPECT_EQ(refusal().field, "name");  // fewer labels than the version has
  say("instead of it", "refund");
  const Value after = add();
  EXPECT_EQ(number(after, "labels"), 13);
  EXPECT_EQ(number(after, "rows_kept"), 15);
  const Lesson grown = version(6);
  start();
  add();
  expect_same_scores(*version(7).head, *grown.head);
}

TEST_F(LabelAddingTest, ShadowsGrowAndVersionsGoBackAndForth) {
  start_with_twelve();
  say("one more", "info");
  EXPECT_EQ(number(add({.method = "add", .shadow = true}), "version"), 3);
  EXPECT_EQ(number(add({.method = "add", .shadow = true}), "version"), 3);  // the shadow has it
  EXPECT_EQ(number(office_->health("refunds").value(), "version"), 2);
  say("and another", "refund");
  const Value both = add({.method = "add", .shadow = true});
  EXPECT_EQ(number(both, "version"), 4);
  EXPECT_EQ(number(both, "rows_added"), 2);  // against the version that answers
  EXPECT_EQ(number(both, "rows_kept"), 1);
  ASSERT_TRUE(office_->promote("refunds", true).ok());
  EXPECT_EQ(number(office_->health("refunds").value(), "version"), 4);
  // Back to the fit: it takes in all labels of now, from the teacher that is there.
  ASSERT_TRUE(office_->activate("refunds", 2).ok());
  const Value again = add();
  EXPECT_EQ(number(again, "version"), 5);
  EXPECT_EQ(number(again, "rows_added"), 2);
  EXPECT_EQ(number(again, "rows_kept"), 0);
  EXPECT_EQ(version(5).head->weights, version(4).head->weights);
}

TEST_F(LabelAddingTest, WhatIsKeptWithoutTextIsAddedFromHiddenStatesOrLeftOut) {
  options_.keep = LessonOptions::Keep::kHashes;
  start();
  label(decide("before"), "refund");
  options_.keep = LessonOptions::Keep::kStates;
  start_with_twelve();
  say("one more", "info");
  const Value first = add();
  EXPECT_EQ(number(first, "labels"), 13);
  EXPECT_EQ(number(first, "rows_left_out"), 1);
  // A request that named a readout was not answered from a hidden state, so none is kept.
  DecisionRequest request = asked("unread");
  request.readout = Readout::kText;
  label(office_->decider().decide(request)->decision_id, "info");
  say("and another", "refund");
  const Value second = add();
  EXPECT_EQ(number(second, "labels"), 14);
  EXPECT_EQ(number(second, "rows_added"), 1);
  EXPECT_EQ(number(second, "rows_left_out"), 2);
}

TEST_F(LabelAddingTest, AFullDiskLeavesTheVersionThatAnswers) {
  start_with_twelve();
  say("one more", "info");
  add();
  say("and another", "refund");
  {
    const testing::FullDisk full;
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kIo);
    EXPECT_NE(error.message.find("refunds.v4.lesson.json"), std::string::npos) << error.message;
  }
  EXPECT_EQ(number(office_->health("refunds").value(), "version"), 3);
  const Value added = add();
  EXPECT_EQ(number(added, "version"), 4);
  EXPECT_EQ(number(added, "rows_added"), 1);
}

TEST_F(LabelAddingTest, RowsOfTheFolderAreReadAgainWhenTheirFileChanges) {
  options_.parse_json = [](const std::string& text) -> Result<Value> {
    if (text[0] != '{') return Value(text.substr(1, text.size() - 2));
    const std::size_t mark = text.find('|');  // {state|expected}
    return Value(Value::Object{{"state", Value(text.substr(1, mark - 1))},
                               {"expected", Value(text.substr(mark + 1, text.size() - mark - 2))}});
  };
  start_with_twelve();
  std::ofstream(folder_ + "/refunds.rows.jsonl") << "{of the folder|refund}\n";
  EXPECT_EQ(number(add(), "labels"), 13);
  std::ofstream(folder_ + "/refunds.rows.jsonl", std::ios::app) << "{of the folder, too|info}\n";
  const Value more = add();
  EXPECT_EQ(number(more, "labels"), 14);
  EXPECT_EQ(number(more, "rows_read"), 1);
  std::ofstream(folder_ + "/refunds.rows.jsonl", std::ios::app) << "{of the folder, as well|cancel}\n";
  const Error error = refusal();
  EXPECT_NE(error.message.find("refunds.rows.jsonl', line 3: \"cancel\""), std::string::npos) << error.message;
}

}  // namespace
}  // namespace assay::service
