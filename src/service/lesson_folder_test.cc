#include "service/lesson_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "service/testing/full_disk.h"

namespace assay::service {
namespace {

namespace fs = std::filesystem;

class LessonFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("assay-folder-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(LessonFolder, AFileThatChangedHasAnotherMark) {
  const FileMark none = file_mark(path("a"));
  EXPECT_EQ(none.bytes, -1);
  std::ofstream(path("a")) << "one";
  const FileMark one = file_mark(path("a"));
  EXPECT_EQ(one.bytes, 3);
  EXPECT_FALSE(one == none);
  EXPECT_TRUE(one == file_mark(path("a")));
  std::ofstream(path("a")) << "four";
  EXPECT_FALSE(one == file_mark(path("a")));
}

TEST_F(LessonFolder, AnotherFileOfTheSameLengthHasAnotherMark) {
  ASSERT_TRUE(write_whole_file(path("a"), "one").ok());
  const FileMark one = file_mark(path("a"));
  ASSERT_TRUE(write_whole_file(path("a"), "two").ok());
  EXPECT_FALSE(one == file_mark(path("a")));
}

TEST_F(LessonFolder, ReadsAFileWhole) {
  const std::string text(100'000, 'x');
  ASSERT_TRUE(write_whole_file(path("a"), text).ok());
  EXPECT_EQ(file_text(path("a")), text);
  ASSERT_TRUE(write_whole_file(path("a"), "").ok());
  EXPECT_EQ(file_text(path("a")), "");
  EXPECT_FALSE(file_text(path("b")).has_value());
  EXPECT_FALSE(file_text(folder_.string()).has_value());
}

TEST_F(LessonFolder, ANewFileTakesNobodysPlace) {
  EXPECT_TRUE(put_new_file(path("a"), "first").value());
  EXPECT_FALSE(put_new_file(path("a"), "second").value());
  EXPECT_EQ(file_text(path("a")), "first");
  EXPECT_EQ(file_count(), 1u) << "nothing is left beside it";
  EXPECT_TRUE(put_file(path("a"), "third", Durable::kNow).ok());
  EXPECT_EQ(file_text(path("a")), "third");
}

TEST_F(LessonFolder, WhatCannotBeWrittenLeavesNothing) {
  const testing::FullDisk full;
  const Result<bool> failed = put_new_file(path("a"), "text");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  EXPECT_EQ(file_count(), 0u);
}

TEST_F(LessonFolder, AFileOfOurOwnNameBesideIsNotWrittenInto) {
  // As of another machine's process with this one's number.
  const std::string beside = path("a") + ".part-" + std::to_string(getpid());
  std::ofstream(beside) << "theirs";
  EXPECT_TRUE(put_new_file(path("a"), "ours").value());
  EXPECT_EQ(file_text(path("a")), "ours");
  EXPECT_EQ(file_text(beside), "theirs");
}

TEST_F(LessonFolder, KnowsWhatAKilledProcessLeft) {
  EXPECT_TRUE(is_left_over(path("refunds.v2.lesson.json.part-17")));
  EXPECT_TRUE(is_left_over(path("refunds.active.part-17-1")));
  EXPECT_TRUE(is_left_over(path("refunds.rows.jsonl.part-17")));
  EXPECT_FALSE(is_left_over(path("refunds.v2.lesson.json")));
  EXPECT_FALSE(is_left_over(path("notes.part-1")));
}

TEST_F(LessonFolder, OneWritesAndSeveralRead) {
  std::atomic<bool> is_in{false};
  std::thread writer;
  {
    const FolderLock one(folder_.string(), Sharing::kReading);
    const FolderLock another(folder_.string(), Sharing::kReading);
    EXPECT_TRUE(one.held());
    EXPECT_TRUE(another.held());
    writer = std::thread([&] {
      const FolderLock lock(folder_.string(), Sharing::kWriting);
      is_in = true;
    });
    EXPECT_FALSE(is_in);
  }
  writer.join();
  EXPECT_TRUE(is_in);
}

TEST_F(LessonFolder, AFolderThatIsNotThereHasNoLock) {
  EXPECT_FALSE(FolderLock(path("none"), Sharing::kWriting).held());
}

}  // namespace
}  // namespace assay::service
