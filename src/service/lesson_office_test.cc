// What a server learns from what it kept: hidden states that are not read again, counts over restarts, shadows.
#include "service/lesson_office.h"

#include <gtest/gtest.h>

#include <memory>

#include "service/testing/office_fixture.h"

namespace assay::service {
namespace {

using Keep = LessonOptions::Keep;
using testing::LessonOfficeTest;

TEST_F(LessonOfficeTest, ASecondFitOnTheSameRowsComputesNothing) {
  start();
  label_twelve();
  const Result<Value> first = office_->fit("refunds", {});
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(number(*first, "rows_read"), 14);  // and the words of two options
  EXPECT_EQ(number(*first, "rows_kept"), 0);
  const std::uint64_t before = rows_computed();
  const Result<Value> second = office_->fit("refunds", {});
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(rows_computed(), before);
  EXPECT_EQ(number(*second, "rows_read"), 0);
  EXPECT_EQ(number(*second, "rows_kept"), 14);
  EXPECT_EQ(office_->stats().hidden_states_read, 14u);
  EXPECT_EQ(office_->stats().hidden_states_kept, 14u);
  // The same rows make the same head, from wherever its numbers came.
  const std::string one = office_->export_lesson("refunds", 2).value();
  const std::string two = office_->export_lesson("refunds", 3).value();
  const Lesson a = lesson_from_text(one).value();
  const Lesson b = lesson_from_text(two).value();
  EXPECT_EQ(a.head->weights, b.head->weights);
  EXPECT_EQ(a.head->bias, b.head->bias);

  // One row more is one row read, also after a restart.
  start();
  label(decide("one more"), "info");
  const Result<Value> third = office_->fit("refunds", {});
  ASSERT_TRUE(third.ok()) << third.error().message;
  EXPECT_EQ(number(*third, "rows_read"), 1);
  EXPECT_EQ(number(*third, "rows_kept"), 14);
}

TEST_F(LessonOfficeTest, AnotherBuildsHiddenStatesAreNotTaken) {
  start();
  label_twelve();
  ASSERT_TRUE(office_->fit("refunds", {}).ok());
  office_->drain(Decider::kNoLimit);
  office_.reset();
  testing::FixtureOptions other;
  other.decider.build = "another build";
  fixture_ = std::make_unique<testing::Fixture>(other);
  store::StoreOptions settings;
  settings.writer.keep = store::Keep::kTexts;
  office_ = std::make_unique<LessonOffice>(std::move(fixture_->decider), LessonBook::open(folder_, "model").value(),
                                           store::DecisionStore::open(folder_ + "/decisions.sqlite", settings).value(),
                                           options_);
  const Result<Value> fitted = office_->fit("refunds", {});
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_EQ(number(*fitted, "rows_read"), 14);
}

TEST_F(LessonOfficeTest, WithHiddenStatesAFitNeedsNoTexts) {
  options_.keep = Keep::kStates;
  start();
  const std::vector<std::string> ids = label_twelve();
  const std::uint64_t before = rows_computed();
  const Result<Value> fitted = office_->fit("refunds", {});
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_EQ(number(*fitted, "rows_kept"), 12);  // kept when they were answered
  EXPECT_EQ(number(*fitted, "rows_read"), 2);   // the options' words
  EXPECT_EQ(number(*fitted, "rows_left_out"), 0);
  EXPECT_GT(rows_computed(), before);
  const Lesson lesson = lesson_from_text(office_->export_lesson("refunds", 2).value()).value();
  EXPECT_EQ(lesson.head->cues, testing::small_lesson().head->cues);
  EXPECT_EQ(lesson.labels, 12u);
  EXPECT_EQ(all_bytes().find("message 4"), std::string::npos);

  // A forgotten decision's are gone, and so is its row.
  EXPECT_TRUE(office_->forget(ids[0]).value());
  EXPECT_EQ(office_->fit("refunds", {}).error().field, "name");  // fewer rows than the version before
  label(decide("instead of it"), "refund");
  const Result<Value> again = office_->fit("refunds", {});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(number(*again, "rows_kept"), 14);
  EXPECT_EQ(number(*again, "rows_read"), 0);
}

TEST_F(LessonOfficeTest, HashesKeepNoHiddenStates) {
  options_.keep = Keep::kHashes;
  start();
  label(decide("a message"), "refund");
  EXPECT_EQ(office_->fit("refunds", {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(office_->stats().hidden_states_bytes, 0u);
  EXPECT_FALSE(office_->stats().keeps_states);
}

TEST_F(LessonOfficeTest, WhereNoneAreKeptALabelledDecisionWithoutTextsIsLeftOut) {
  options_.keep = Keep::kHashes;
  start();
  label(decide("before"), "refund");
  options_.keep = Keep::kStates;
  start();
  label_twelve();
  const Result<Value> fitted = office_->fit("refunds", {});
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_EQ(number(*fitted, "labels"), 12);
  EXPECT_EQ(number(*fitted, "rows_left_out"), 1);
}

TEST_F(LessonOfficeTest, AnUpdateKeepsWhatTheVersionBeforeChose) {
  start();
  label_twelve();
  ASSERT_TRUE(office_->fit("refunds", {.method = "ridge"}).ok());
  const Lesson before = lesson_from_text(office_->export_lesson("refunds", 2).value()).value();
  label(decide("one more"), "info");
  const Result<Value> updated = office_->fit("refunds", {.method = "update"});
  ASSERT_TRUE(updated.ok()) << updated.error().message;
  const Lesson after = lesson_from_text(office_->export_lesson("refunds", 3).value()).value();
  EXPECT_EQ(after.head->method, "ridge");
  EXPECT_EQ(after.head->cues, before.head->cues);
  EXPECT_EQ(after.head->regularisation, before.head->regularisation);
  EXPECT_EQ(after.labels, 13u);
  EXPECT_NE(after.head->weights, before.head->weights);
}

TEST_F(LessonOfficeTest, CountsAndDriftOutliveARestart) {
  start();
  for (int i = 0; i < 5; i++) decide("message " + std::to_string(i));
  const std::string before = to_json_text(office_->health("refunds").value());
  EXPECT_EQ(number(office_->health("refunds").value(), "answers"), 5);
  start();
  EXPECT_EQ(to_json_text(office_->health("refunds").value()), before);
  decide("one more");
  EXPECT_EQ(number(office_->health("refunds").value(), "answers"), 6);
}

TEST_F(LessonOfficeTest, AForgottenDecisionStaysCounted) {
  start();
  const std::string id = decide("a message");
  EXPECT_TRUE(office_->forget(id).value());
  start();
  EXPECT_EQ(number(office_->health("refunds").value(), "answers"), 1);
}

TEST_F(LessonOfficeTest, WhatAHeadsReadoutGaveIsKeptWhereItWasAsked) {
  start();
  const std::string plain = decide("a message");
  DecisionRequest request = asked("a message");
  request.explain = true;
  const Result<DecisionReply> explained = office_->decider().decide(request);
  ASSERT_TRUE(explained.ok());
  EXPECT_EQ(office_->decision(plain)->find("zero_shot_score"), std::string::npos);
  const std::string kept = office_->decision(explained->decision_id).value();
  EXPECT_NE(kept.find("zero_shot_score"), std::string::npos) << kept;
  EXPECT_NE(kept.find(R"("x_explain": true)"), std::string::npos) << kept;
}

TEST_F(LessonOfficeTest, LabelsPromoteAShadowThatIsRightMoreOften) {
  options_.promotion = LessonOptions::Promotion::kLabels;
  start();
  // The shadow says the opposite of the active version.
  Lesson lesson = lesson_from_text(office_->export_lesson("refunds", 1).value()).value();
  for (float& weight : lesson.head->weights) weight = -weight;
  for (float& bias : lesson.head->bias) bias = -bias;
  ASSERT_TRUE(office_->import_lesson(lesson_text(lesson), true).ok());
  std::vector<std::string> ids;
  std::vector<std::string> wrong;
  for (int i = 0; i < 7; i++) {
    const Result<DecisionReply> reply = office_->decider().decide(asked("message " + std::to_string(i)));
    ASSERT_TRUE(reply.ok());
    ids.push_back(reply->decision_id);
    wrong.push_back(reply->answers[0].options[reply->answers[0].best].id);
  }
  office_->wait_for_shadows();
  EXPECT_EQ(office_->promote("refunds", false).error().code, ErrorCode::kInvalidArgument);
  for (std::size_t i = 0; i < ids.size(); i++) {
    EXPECT_EQ(office_->promote("refunds", false).error().field, "name");
    label(ids[i], wrong[i] == "refund" ? "info" : "refund");
  }
  const Value shadow = *office_->health("refunds")->find("shadow");
  EXPECT_EQ(number(shadow, "compared"), 7);
  EXPECT_EQ(number(shadow, "agreed"), 0);
  EXPECT_EQ(number(shadow, "labelled"), 7);
  EXPECT_EQ(number(shadow, "right_alone"), 7);
  EXPECT_TRUE(*shadow.find("rule_met")->boolean());
  EXPECT_NE(office_->decision(ids[0])->find(R"("shadow": {"lesson": "refunds", "version": 2, )"), std::string::npos);

  // The comparisons are in the file, too.
  start();
  EXPECT_EQ(to_json_text(*office_->health("refunds")->find("shadow")), to_json_text(shadow));
  EXPECT_TRUE(office_->promote("refunds", false).ok());
  EXPECT_EQ(number(office_->health("refunds").value(), "version"), 2);
}

}  // namespace
}  // namespace assay::service
