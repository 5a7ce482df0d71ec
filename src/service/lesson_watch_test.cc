#include "service/lesson_watch.h"

#include <gtest/gtest.h>

#include <limits>

#include "service/testing/lessons.h"

namespace assay::service {
namespace {

ShelvedLesson shelved() { return {.lesson = testing::small_lesson(), .sha256 = "ab", .path = "", .problem = ""}; }

Answer answer_with(double probability, Action action) {
  Answer answer;
  answer.options = {{.id = "refund", .probability = probability}, {.id = "info", .probability = 1 - probability}};
  answer.lesson.action = action;
  return answer;
}

TEST(LessonWatch, GoesOnWhereItWas) {
  const ShelvedLesson lesson = shelved();
  LessonWatch whole(0.01);
  LessonWatch first(0.01);
  for (int i = 0; i < 40; i++) {
    const Answer answer = answer_with(0.5 + i / 100.0, i % 3 == 0 ? Action::kEscalate : Action::kAct);
    whole.count(lesson, answer);
    if (i < 25) first.count(lesson, answer);
  }
  first.compare(lesson, true);
  LessonWatch second(0.01);
  ASSERT_TRUE(second.restore(lesson, first.numbers(lesson)));
  EXPECT_EQ(second.numbers(lesson), first.numbers(lesson));
  EXPECT_EQ(second.counts(lesson).answers, 25u);
  EXPECT_EQ(second.counts(lesson).agreed, 1u);
  for (int i = 25; i < 40; i++)
    second.count(lesson, answer_with(0.5 + i / 100.0, i % 3 == 0 ? Action::kEscalate : Action::kAct));
  whole.compare(lesson, true);
  EXPECT_EQ(second.numbers(lesson), whole.numbers(lesson));
}

TEST(LessonWatch, ConfidenceBelowTheLabelledRowsIsDrift) {
  const ShelvedLesson lesson = shelved();  // 0.8 on average
  LessonWatch watch(0.01);
  LessonWatch as_before(0.01);
  for (int i = 0; i < 300; i++) {
    watch.count(lesson, answer_with(0.55, Action::kAct));
    as_before.count(lesson, answer_with(i % 2 == 0 ? 0.75 : 0.85, Action::kAct));
  }
  EXPECT_TRUE(watch.drift(lesson).alarm());
  EXPECT_FALSE(as_before.drift(lesson).alarm());
}

TEST(LessonWatch, ActingLessOftenThanTheThresholdsCoverageIsDrift) {
  const ShelvedLesson lesson = shelved();  // its threshold covers all
  LessonWatch watch(0.01);
  for (int i = 0; i < 300; i++) watch.count(lesson, answer_with(0.8, i % 2 == 0 ? Action::kAct : Action::kEscalate));
  const WatchDrift drift = watch.drift(lesson);
  EXPECT_TRUE(drift.alarm());
  ASSERT_TRUE(drift.confidence && drift.action);
  EXPECT_FALSE(drift.confidence->alarm);
  EXPECT_TRUE(drift.action->alarm);
}

TEST(LessonWatch, WhatIsNoSuchNumbersBeginsAnew) {
  const ShelvedLesson lesson = shelved();
  LessonWatch watch(0.01);
  watch.count(lesson, answer_with(0.75, Action::kAct));
  const std::vector<double> good = watch.numbers(lesson);
  std::vector<std::vector<double>> bad = {{}, {2}, good, good, good, good};
  bad[2].pop_back();
  bad[3].push_back(1);
  bad[4][1] = -1;
  bad[5].back() = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& numbers : bad) {
    LessonWatch other(0.01);
    EXPECT_FALSE(other.restore(lesson, numbers)) << numbers.size();
    EXPECT_EQ(other.counts(lesson).answers, 0u);
    other.count(lesson, answer_with(0.75, Action::kAct));
    EXPECT_EQ(other.numbers(lesson), good);
  }
  // A lesson that has nothing to be tested against has no such tests.
  ShelvedLesson other = lesson;
  other.lesson.mean_confidence = -1;
  LessonWatch without(0.01);
  EXPECT_FALSE(without.restore(other, good));
}

}  // namespace
}  // namespace assay::service
