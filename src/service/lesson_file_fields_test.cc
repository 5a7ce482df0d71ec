// Members that files of earlier versions do not have.
#include <gtest/gtest.h>

#include "assay/lesson.h"
#include "service/testing/lessons.h"

namespace assay {
namespace {

Lesson again(const Lesson& lesson) {
  const Result<Lesson> read = lesson_from_text(lesson_text(lesson));
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.ok() ? *read : Lesson{};
}

TEST(LessonFileFields, WhatIsNotUsedIsNotWritten) {
  const std::string text = lesson_text(service::testing::small_lesson());
  EXPECT_EQ(text.find("\"slope\""), std::string::npos);
  EXPECT_EQ(text.find("\"shift\""), std::string::npos);
  EXPECT_EQ(text.find("\"horizon\""), std::string::npos);
  const Lesson read = again(service::testing::small_lesson());
  EXPECT_EQ(read.calibrations.at(0).slope, 1);
  EXPECT_EQ(read.thresholds.at(0).horizon, 0U);
}

TEST(LessonFileFields, KeepsSlopeShiftAndHorizon) {
  Lesson lesson = service::testing::small_lesson();
  lesson.calibrations.at(0).slope = 0.25;
  lesson.calibrations.at(0).shift = -0.125;
  lesson.thresholds.at(0).horizon = 400;
  const Lesson read = again(lesson);
  EXPECT_EQ(read.calibrations.at(0).slope, 0.25);
  EXPECT_EQ(read.calibrations.at(0).shift, -0.125);
  EXPECT_EQ(read.thresholds.at(0).horizon, 400U);
}

TEST(LessonFileFields, KeepsWhatALabelMoreNeeds) {
  Lesson lesson = service::testing::small_lesson();
  EXPECT_EQ(lesson_text(lesson).find("lambda"), std::string::npos);
  EXPECT_EQ(lesson_text(lesson).find("growth"), std::string::npos);
  lesson.head->lambda = 1.0 / 3;
  lesson.head->sharpness = 0.1;
  lesson.growth = Growth{.calibrated_at_version = 4, .labels = 770};
  const Lesson read = again(lesson);
  EXPECT_EQ(read.head->lambda, 1.0 / 3);
  EXPECT_EQ(read.head->sharpness, 0.1);
  EXPECT_EQ(read.growth->calibrated_at_version, 4);
  EXPECT_EQ(read.growth->labels, 770U);
}

TEST(LessonFileFields, RefusesWhatTheyCannotBe) {
  Lesson lesson = service::testing::small_lesson();
  lesson.calibrations.at(0).slope = -1;
  EXPECT_EQ(lesson_from_text(lesson_text(lesson)).error().field, "calibrations[0].slope");
  lesson = service::testing::small_lesson();
  lesson.thresholds.at(0).horizon = 1000001;
  EXPECT_EQ(lesson_from_text(lesson_text(lesson)).error().field, "thresholds[0].horizon");
  lesson = service::testing::small_lesson();
  lesson.head->lambda = 1;
  lesson.head->sharpness = 0;
  EXPECT_EQ(lesson_from_text(lesson_text(lesson)).error().field, "head.sharpness");
  lesson = service::testing::small_lesson();
  lesson.growth = Growth{.calibrated_at_version = -1, .labels = 1};
  EXPECT_EQ(lesson_from_text(lesson_text(lesson)).error().field, "growth.calibrated_at_version");
}

}  // namespace
}  // namespace assay
