#include "service/lesson_book.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "service/testing/full_disk.h"
#include "service/testing/lessons.h"

namespace assay::service {
namespace {

namespace fs = std::filesystem;

class LessonBookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("assay-lessons-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<LessonBook> open(const std::string& model = "model") {
    Result<std::unique_ptr<LessonBook>> book = LessonBook::open(folder_.string(), model);
    EXPECT_TRUE(book.ok());
    return std::move(book).value();
  }

  fs::path folder_;
};

TEST_F(LessonBookTest, KeepsVersionsAndRollsBack) {
  const std::unique_ptr<LessonBook> book = open();
  EXPECT_TRUE(book->shelf()->lessons.empty());
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());
  Lesson second = testing::small_lesson();
  second.note = "second";
  const Result<SharedLesson> added = book->add(second, false);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ((*added)->lesson.version, 2);
  EXPECT_EQ(book->shelf()->lessons.at("refunds").active, 2);
  ASSERT_TRUE(book->activate("refunds", 1).ok());
  EXPECT_EQ(open()->shelf()->lessons.at("refunds").active, 1) << "after a restart";
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());
  EXPECT_EQ(book->shelf()->lessons.at("refunds").active, 3);
}

TEST_F(LessonBookTest, AShadowIsNotActive) {
  const std::unique_ptr<LessonBook> book = open();
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());
  ASSERT_TRUE(book->add(testing::small_lesson(), true).ok());
  EXPECT_EQ(book->shelf()->lessons.at("refunds").active, 1);
  EXPECT_EQ(book->shelf()->lessons.at("refunds").shadow, 2);
  EXPECT_EQ(open()->shelf()->lessons.at("refunds").shadow, 2) << "after a restart";
  ASSERT_TRUE(book->activate("refunds", 2).ok());
  EXPECT_FALSE(book->shelf()->lessons.at("refunds").shadow.has_value());
}

TEST_F(LessonBookTest, SaysWhatCannotBeUsedAndGoesOn) {
  ASSERT_TRUE(open()->add(testing::small_lesson("good"), false).ok());
  std::ofstream(folder_ / "broken.lesson.json") << "{";
  std::ofstream(folder_ / "notes.txt") << "nothing of ours";
  Lesson other = testing::small_lesson("other");
  other.model_sha256 = "another";
  std::ofstream(folder_ / "other.lesson.json") << lesson_text(other);
  const std::unique_ptr<LessonBook> book = open();
  const std::shared_ptr<const LessonShelf> shelf = book->shelf();
  EXPECT_EQ(shelf->lessons.size(), 2u);
  EXPECT_EQ(shelf->lessons.at("good").active_lesson()->problem, "");
  EXPECT_NE(shelf->lessons.at("other").active_lesson()->problem, "");
  EXPECT_EQ(shelf->problems.size(), 2u);
  EXPECT_FALSE(book->activate("other", 1).ok());
  EXPECT_EQ(book->add(other, false).error().field, "model.sha256");
}

TEST_F(LessonBookTest, NamesWhatIsNotThere) {
  const std::unique_ptr<LessonBook> book = open();
  EXPECT_EQ(book->activate("x", 1).error().field, "name");
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());
  EXPECT_EQ(book->activate("refunds", 7).error().field, "version");
  EXPECT_EQ(book->set_shadow("refunds", 7).error().field, "version");
}

TEST_F(LessonBookTest, AVersionThatCannotBeWrittenIsToldAndItsNumberIsFree) {
  const std::unique_ptr<LessonBook> book = open();
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());
  {
    const testing::FullDisk full;
    const Result<SharedLesson> failed = book->add(testing::small_lesson(), false);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::kIo);
    EXPECT_NE(failed.error().message.find("refunds.v2.lesson.json"), std::string::npos) << failed.error().message;
  }
  // The version is written and its pointer is not: that leaves nothing of it either.
  fs::remove(folder_ / "refunds.active");
  fs::create_directory(folder_ / "refunds.active");
  const Result<SharedLesson> failed = book->add(testing::small_lesson(), false);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("refunds.active"), std::string::npos) << failed.error().message;
  EXPECT_EQ(book->shelf()->lessons.at("refunds").versions.size(), 1u);
  EXPECT_EQ(book->shelf()->lessons.at("refunds").active, 1);
  fs::remove(folder_ / "refunds.active");
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(book->add(testing::small_lesson(), false).value()->lesson.version, 2);
  EXPECT_EQ(open()->shelf()->lessons.at("refunds").active, 2);
}

TEST_F(LessonBookTest, ALessonThatCouldNotBeReadAgainIsNotWritten) {
  const std::unique_ptr<LessonBook> book = open();
  Lesson lesson = testing::small_lesson();
  lesson.head->weights[1] = std::nanf("");
  EXPECT_EQ(book->add(lesson, false).error().field, "head.weights.f32");
  EXPECT_TRUE(fs::is_empty(folder_));
}

// Adding does not read what it wrote, so it must come to the same.
TEST_F(LessonBookTest, WhatItKnowsIsWhatLiesInTheFolder) {
  const std::unique_ptr<LessonBook> book = open();
  const auto told = [](const LessonBook& of) {
    std::string out;
    for (const auto& [name, lesson] : of.shelf()->lessons) {
      out += name + " " + std::to_string(lesson.active) + " " + std::to_string(lesson.shadow.value_or(0)) + ":";
      for (const auto& [version, shelved] : lesson.versions)
        out += " " + std::to_string(version) + shelved->sha256 + shelved->path + lesson_text(shelved->lesson);
    }
    return out;
  };
  const std::vector<std::pair<std::string, bool>> steps = {{"refunds", false}, {"other", true},   {"refunds", true},
                                                           {"refunds", false}, {"refunds", true}, {"other", false}};
  for (const auto& [name, shadow] : steps) {
    Lesson lesson = testing::small_lesson(name);
    lesson.head->lambda = 0.1;
    lesson.growth = Growth{.calibrated_at_version = 1, .labels = 49};
    ASSERT_TRUE(book->add(lesson, shadow).ok());
    EXPECT_EQ(told(*book), told(*open()));
  }
  ASSERT_TRUE(book->activate("refunds", 1).ok());
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());  // not behind the version that was active
  EXPECT_EQ(told(*book), told(*open()));
}

// Two processes with one folder: each has a book of its own.
TEST_F(LessonBookTest, GoesOnBehindWhatAnotherWrote) {
  const std::unique_ptr<LessonBook> server = open();
  ASSERT_TRUE(server->add(testing::small_lesson(), false).ok());
  const std::unique_ptr<LessonBook> other = open();
  Lesson theirs = testing::small_lesson();
  theirs.note = "theirs";
  ASSERT_EQ(other->add(theirs, false).value()->lesson.version, 2);
  EXPECT_EQ(server->shelf()->lessons.at("refunds").active, 1) << "until it looks";
  EXPECT_EQ(server->add(testing::small_lesson(), true).value()->lesson.version, 3);
  const LessonVersions versions = server->shelf()->lessons.at("refunds");
  EXPECT_EQ(versions.versions.at(2)->lesson.note, "theirs");
  EXPECT_EQ(versions.active, 2) << "what the folder says";
  EXPECT_EQ(versions.shadow, 3);
  ASSERT_TRUE(other->activate("refunds", 3).ok()) << "which it never read";
  server->look();
  EXPECT_EQ(server->shelf()->lessons.at("refunds").active, 3);
  EXPECT_FALSE(server->shelf()->lessons.at("refunds").shadow.has_value());
}

TEST_F(LessonBookTest, ALookReadsNothingAgain) {
  const std::unique_ptr<LessonBook> book = open();
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());
  const SharedLesson first = book->shelf()->lessons.at("refunds").active_lesson();
  ASSERT_TRUE(open()->add(testing::small_lesson("other"), false).ok());
  book->look();
  EXPECT_EQ(book->shelf()->lessons.size(), 2u);
  EXPECT_EQ(book->shelf()->lessons.at("refunds").active_lesson(), first) << "the very same";
  fs::remove(folder_ / "other.v1.lesson.json");
  book->look();
  EXPECT_EQ(book->shelf()->lessons.size(), 1u);
}

TEST_F(LessonBookTest, ANumberWhoseFileCannotBeUsedIsPassedOver) {
  const std::unique_ptr<LessonBook> book = open();
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());
  std::ofstream(folder_ / "refunds.v2.lesson.json") << "{";
  EXPECT_EQ(book->add(testing::small_lesson(), false).value()->lesson.version, 3);
  EXPECT_EQ(file_text((folder_ / "refunds.v2.lesson.json").string()), "{");
  EXPECT_EQ(open()->shelf()->lessons.at("refunds").active, 3);
}

TEST_F(LessonBookTest, WhatAKilledProcessLeftIsRemoved) {
  const std::unique_ptr<LessonBook> book = open();
  ASSERT_TRUE(book->add(testing::small_lesson(), false).ok());
  std::ofstream(folder_ / "refunds.v2.lesson.json.part-1") << "{";
  EXPECT_EQ(book->add(testing::small_lesson(), false).value()->lesson.version, 2);
  EXPECT_FALSE(fs::exists(folder_ / "refunds.v2.lesson.json.part-1"));
}

TEST_F(LessonBookTest, ManyWhoWriteLoseNothing) {
  constexpr int kBooks = 4;
  constexpr int kEach = 5;
  std::vector<std::vector<std::pair<std::int32_t, std::string>>> told(kBooks);
  std::vector<std::thread> threads;
  for (int number = 0; number < kBooks; number++) {
    threads.emplace_back([this, number, &told] {
      const std::unique_ptr<LessonBook> book = open();
      for (int i = 0; i < kEach; i++) {
        Lesson lesson = testing::small_lesson();
        lesson.note = std::to_string(number) + "/" + std::to_string(i);
        const Result<SharedLesson> added = book->add(lesson, false);
        if (added.ok()) told[static_cast<std::size_t>(number)].emplace_back((*added)->lesson.version, lesson.note);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const LessonVersions found = open()->shelf()->lessons.at("refunds");
  std::set<std::int32_t> versions;
  for (const auto& of_one : told) {
    for (const auto& [version, note] : of_one) {
      EXPECT_TRUE(versions.insert(version).second) << version << " was given twice";
      EXPECT_EQ(found.versions.at(version)->lesson.note, note);
    }
  }
  EXPECT_EQ(versions.size(), std::size_t{kBooks * kEach});
  EXPECT_EQ(found.active, kBooks * kEach);
}

TEST_F(LessonBookTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_) << "a file";
  const Result<std::unique_ptr<LessonBook>> book = LessonBook::open(folder_.string(), "model");
  ASSERT_FALSE(book.ok());
  EXPECT_EQ(book.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace assay::service
