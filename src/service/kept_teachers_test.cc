#include "service/kept_teachers.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "service/testing/lessons.h"

namespace assay::service {
namespace {

// About `rows` times 128 bytes.
std::unique_ptr<KeptTeacher> teacher_of(std::size_t rows) {
  auto out = std::make_unique<KeptTeacher>();
  for (std::size_t i = 0; i < rows; i++) out->rows.emplace("state " + std::to_string(i), 0);
  return out;
}

TEST(KeptTeachers, TheOnesUsedLastStayWithinTheLimits) {
  const std::size_t bytes = teacher_of(100)->bytes();
  KeptTeachers kept(3, 5 * bytes / 2);
  kept.put("a", teacher_of(100));
  kept.put("b", teacher_of(100));
  kept.put("a", kept.take("a"));
  kept.put("c", teacher_of(100));  // too much for three
  EXPECT_EQ(kept.take("b"), nullptr);
  EXPECT_EQ(kept.count(), 2u);
  kept.put("a", teacher_of(1));
  kept.put("d", teacher_of(1));
  kept.put("e", teacher_of(1));  // too many
  EXPECT_EQ(kept.count(), 3u);
  EXPECT_EQ(kept.take("c"), nullptr);
  const auto a = kept.take("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->rows.size(), 1u);  // the later one
  EXPECT_EQ(kept.take("a"), nullptr);
  kept.put("large", teacher_of(1000));
  EXPECT_EQ(kept.take("large"), nullptr);
  EXPECT_EQ(kept.count(), 2u);
}

TEST(KeptTeachers, AFitIsToldByWhatItsHeadsShare) {
  const LinearHead head = *testing::small_lesson().head;
  LinearHead other = head;
  other.weights[0] = 7;
  other.bias[0] = 7;
  EXPECT_TRUE(same_fit(head, other));
  for (const auto change : {+[](LinearHead& h) { h.lambda = 2; }, +[](LinearHead& h) { h.sharpness = 2; },
                            +[](LinearHead& h) { h.mean[1] = 2; }, +[](LinearHead& h) { h.scale[1] = 2; },
                            +[](LinearHead& h) { h.normalised = true; }, +[](LinearHead& h) { h.cues[0] += '.'; }}) {
    other = head;
    change(other);
    EXPECT_FALSE(same_fit(head, other));
  }
}

TEST(KeptTeachers, ATeacherIsForOneFitOfOneQuestion) {
  const Lesson lesson = testing::small_lesson();
  KeptTeacher teacher;
  teacher.before = *lesson.head;
  teacher.question = *lesson.question;
  EXPECT_TRUE(teacher.continues(lesson));
  Lesson other = lesson;
  std::swap(other.question->options[0], other.question->options[1]);
  EXPECT_FALSE(teacher.continues(other));
  other = lesson;
  other.head->mean[0] = 1;
  EXPECT_FALSE(teacher.continues(other));
  other.head.reset();
  EXPECT_FALSE(teacher.continues(other));
}

}  // namespace
}  // namespace assay::service
