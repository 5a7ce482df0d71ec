#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "service/lesson_file.h"
#include "service/testing/lessons.h"

namespace assay::service {
namespace {

using Json = nlohmann::ordered_json;

// The file of the small lesson with one change, read again: the field that is complained of, or "" when it is taken.
template <typename Change>
std::string complaint(Change change) {
  Json json = Json::parse(lesson_text(testing::small_lesson()));
  change(json);
  const Result<Lesson> lesson = lesson_from_text(json.dump());
  return lesson.ok() ? "" : lesson.error().field;
}

TEST(LessonFile, ReadsWhatItWrote) {
  Lesson lesson = testing::small_lesson();
  lesson.calibrations[0].isotonic = {{0.1, 0.2}, {0.9, 0.95}};
  lesson.head->bias[0] = std::nextafter(0.1F, 1.0F);
  lesson.thresholds[0].value = std::nullopt;
  const std::string text = lesson_text(lesson);
  const Result<Lesson> again = lesson_from_text(text);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(lesson_text(*again), text);
  EXPECT_EQ(again->head->bias, lesson.head->bias);
  EXPECT_FALSE(again->thresholds[0].value.has_value());
  EXPECT_EQ(again->question->options, lesson.question->options);
}

// What is written is not read again, so it must come to the same.
TEST(LessonFile, IsWhatReadingItGives) {
  Lesson lesson = testing::small_lesson();
  lesson.head->weights = {0.1F, -1e-30F, 3, 0, -1, 0, std::nextafter(0.1F, 1.0F), 0};
  lesson.head->lambda = 0.1;
  lesson.head->sharpness = 1.0 / 3;
  lesson.growth = Growth{.calibrated_at_version = 3, .labels = 49};
  lesson.version = 4;
  for (const bool has_head : {true, false}) {
    if (!has_head) lesson.head.reset();
    const Result<LessonFile> file = lesson_file(lesson);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->text, lesson_text(lesson));
    const Result<Lesson> again = lesson_from_text(file->text);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(lesson_text(*again), lesson_text(file->lesson));
    if (!has_head) continue;
    EXPECT_EQ(again->head->weights, file->lesson.head->weights);
  }
}

TEST(LessonFile, IsNotMadeOfWhatCouldNotBeReadAgain) {
  const auto refused = [](auto change) {
    Lesson lesson = testing::small_lesson();
    change(lesson);
    const Result<LessonFile> file = lesson_file(lesson);
    const Result<Lesson> read = lesson_from_text(lesson_text(lesson));
    EXPECT_EQ(read.ok() ? "" : read.error().field, file.ok() ? "" : file.error().field);
    return file.ok() ? "" : file.error().field;
  };
  EXPECT_EQ(refused([](Lesson&) {}), "");
  EXPECT_EQ(refused([](Lesson& l) { l.head->weights[1] = std::nanf(""); }), "head.weights.f32");
  EXPECT_EQ(refused([](Lesson& l) { l.head->bias.pop_back(); }), "head.bias.f32");
  EXPECT_EQ(refused([](Lesson& l) { l.accuracy = std::nan(""); }), "accuracy");
  EXPECT_EQ(refused([](Lesson& l) { l.version = -1; }), "version");
  EXPECT_EQ(refused([](Lesson& l) { l.name = "No!"; }), "name");
}

TEST(LessonFile, ATextThatIsNoUtf8IsNoLesson) {
  Lesson lesson = testing::small_lesson();
  lesson.note = "\xff";
  EXPECT_EQ(lesson_file(lesson).error().field, "lesson");
}

TEST(LessonFile, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(complaint([](Json&) {}), "");
  EXPECT_EQ(complaint([](Json& j) { j["format"] = "x"; }), "format");
  EXPECT_EQ(complaint([](Json& j) { j["name"] = "Not A Name"; }), "name");
  EXPECT_EQ(complaint([](Json& j) { j["version"] = 0; }), "version");
  EXPECT_EQ(complaint([](Json& j) { j.erase("layout"); }), "layout");
  EXPECT_EQ(complaint([](Json& j) { j["surprise"] = 1; }), "surprise");
  EXPECT_EQ(complaint([](Json& j) { j["model"]["sha256"] = 7; }), "model.sha256");
  EXPECT_EQ(complaint([](Json& j) { j["question"] = nullptr; }), "question");
  EXPECT_EQ(complaint([](Json& j) { j["question"]["options"][1]["id"] = "refund"; }), "question.options[1].id");
  EXPECT_EQ(complaint([](Json& j) { j["calibrations"][0]["temperature"] = 0; }), "calibrations[0].temperature");
  EXPECT_EQ(complaint([](Json& j) { j["calibrations"][0]["isotonic"] = {{0.5, 0.5}, {0.4, 0.6}}; }),
            "calibrations[0].isotonic[1]");
  EXPECT_EQ(complaint([](Json& j) { j["thresholds"][0]["value"] = 1.5; }), "thresholds[0].value");
  EXPECT_EQ(complaint([](Json& j) { j["head"]["width"] = 8; }), "head.mean.f32");
  EXPECT_EQ(complaint([](Json& j) { j["head"]["options"] = {0, 2}; }), "head.options[1]");
  EXPECT_EQ(complaint([](Json& j) { j["head"]["cues"] = Json::array(); }), "head.cues");
  EXPECT_EQ(complaint([](Json& j) { j["labels"]["by_option"]["info"] = -1; }), "labels.by_option.info");
}

TEST(LessonFile, FindsDamage) {
  // A flipped character in the numbers, which stays base64.
  EXPECT_EQ(complaint([](Json& j) {
              std::string numbers = j["head"]["weights"]["f32"];
              numbers[2] = numbers[2] == 'A' ? 'B' : 'A';
              j["head"]["weights"]["f32"] = numbers;
            }),
            "head.weights.f32");
  EXPECT_EQ(complaint([](Json& j) { j["head"]["weights"]["f32"] = "!!!!"; }), "head.weights.f32");
  const std::string text = lesson_text(testing::small_lesson());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 3}) {
    const Result<Lesson> cut = lesson_from_text(text.substr(0, size));
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(LessonFile, RefusesNumbersThatAreNone) {
  Lesson lesson = testing::small_lesson();
  lesson.head->mean[1] = std::nanf("");
  const Result<Lesson> read = lesson_from_text(lesson_text(lesson));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().field, "head.mean.f32");
}

TEST(LessonFile, KnowsNames) {
  for (const char* good : {"a", "refunds", "0-9_a"}) EXPECT_TRUE(is_lesson_name(good)) << good;
  for (const char* bad : {"", "-a", "_a", "A", "a/b", "..", "a b"}) EXPECT_FALSE(is_lesson_name(bad)) << bad;
  EXPECT_FALSE(is_lesson_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace assay::service
