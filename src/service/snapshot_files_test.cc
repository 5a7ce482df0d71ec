#include "service/snapshot_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/sha256.h"

namespace assay::service {
namespace {

namespace fs = std::filesystem;
using engine::Tokens;

constexpr std::size_t kTokensAt = 52;  // 8 magic, 4 version, 32 identity, 8 count

class SnapshotFilesTest : public ::testing::Test {
 public:
  SnapshotFilesTest() : dir_(fs::temp_directory_path() / ("assay-snapshot-files-" + std::to_string(getpid()))) {
    fs::remove_all(dir_);
    set_log_level(LogLevel::kOff);
  }
  ~SnapshotFilesTest() override {
    set_log_level(LogLevel::kInfo);
    fs::remove_all(dir_);
  }

 protected:
  std::unique_ptr<SnapshotFiles> open(const std::string& identity = "model, build, settings",
                                      SnapshotAccess access = SnapshotAccess::kReadWrite) {
    Result<std::unique_ptr<SnapshotFiles>> files = SnapshotFiles::open(dir_.string(), identity, access);
    EXPECT_TRUE(files.ok()) << files.error().message;
    return std::move(files).value();
  }

  // Writes one snapshot; the path of its file.
  fs::path put_one() {
    open()->put(path_, 1, payload_);
    return only_file();
  }

  fs::path only_file() {
    const std::vector<fs::path> all(fs::directory_iterator(dir_), {});
    EXPECT_EQ(all.size(), 1u);
    return all.front();
  }

  // A new object each time: an old one would not look again at a file that it refused.
  std::optional<std::string> found() { return open()->find(path_, 1); }

  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Replaces the last 32 bytes by the right hash of those before.
  static std::string with_right_hash(std::string bytes) {
    bytes.resize(bytes.size() - 32);
    const std::string hex = sha256_hex(bytes);
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return bytes;
  }

  fs::path dir_;
  const Tokens path_ = {7, -1, 300000};
  const std::string payload_ = std::string("key\0value\xff", 10);
};

TEST_F(SnapshotFilesTest, GivesBackWhatWasPut) {
  open()->put(path_, 1, payload_);
  EXPECT_EQ(open()->find(path_, 1), payload_);
  EXPECT_EQ(open("model, build, settings", SnapshotAccess::kRead)->find(path_, 1), payload_);
}

TEST_F(SnapshotFilesTest, AnEmptyPayloadComesBackEmpty) {
  open()->put(path_, 0, "");
  EXPECT_EQ(open()->find(path_, 0), "");
}

TEST_F(SnapshotFilesTest, TheFormatIsAsItsHeaderSays) {
  const fs::path file = put_one();
  const std::string bytes = read(file);
  const std::string first = bytes.substr(0, kTokensAt + 12 + 8);
  EXPECT_EQ(file.filename().string(), sha256_hex(first) + ".assay-prefix");
  EXPECT_EQ(bytes.substr(0, 12), std::string("ASSAYPFX\1\0\0\0", 12));
  EXPECT_EQ(bytes.substr(44, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(kTokensAt, 12), std::string("\7\0\0\0\xff\xff\xff\xff\xe0\x93\4\0", 12));
  EXPECT_EQ(bytes.substr(kTokensAt + 12, 16), std::string("\1\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(bytes.substr(kTokensAt + 28, 10), payload_);
  EXPECT_EQ(bytes.size(), kTokensAt + 28 + 10 + 32);
  EXPECT_EQ(with_right_hash(bytes), bytes);
}

TEST_F(SnapshotFilesTest, WhatIsAbsentIsNotFound) { EXPECT_FALSE(open()->find(path_, 1).has_value()); }

TEST_F(SnapshotFilesTest, AnotherIdentityFindsNothing) {
  put_one();
  EXPECT_FALSE(open("other")->find(path_, 1).has_value());
  EXPECT_TRUE(open("other")->wants(path_, 1));
}

TEST_F(SnapshotFilesTest, OtherTokensOrAnotherBeginningFindNothing) {
  put_one();
  const std::unique_ptr<SnapshotFiles> files = open();
  EXPECT_FALSE(files->find({7, -1, 300001}, 1).has_value());
  EXPECT_FALSE(files->find({8, -1, 300000}, 1).has_value());
  EXPECT_FALSE(files->find({7, -1}, 1).has_value());
  EXPECT_FALSE(files->find(path_, 0).has_value());
  EXPECT_FALSE(files->find(path_, 2).has_value());
}

TEST_F(SnapshotFilesTest, AFileUnderAnotherOnesNameIsRefused) {
  const std::string others = [this] {
    open("other")->put(path_, 1, payload_);
    const std::string bytes = read(only_file());
    fs::remove(only_file());
    return bytes;
  }();
  const fs::path file = put_one();
  write(file, others);
  EXPECT_FALSE(found().has_value());
}

TEST_F(SnapshotFilesTest, EachFlippedByteIsSeen) {
  const fs::path file = put_one();
  const std::string bytes = read(file);
  for (std::size_t i = 0; i < bytes.size(); i++) {
    for (const int bits : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ bits);
      write(file, damaged);
      EXPECT_FALSE(found().has_value()) << "byte " << i;
    }
  }
  write(file, bytes);
  EXPECT_EQ(found(), payload_);
}

TEST_F(SnapshotFilesTest, AWrongFirstPartIsSeenAlsoUnderARightHash) {
  const fs::path file = put_one();
  const std::string bytes = read(file);
  for (std::size_t i = 0; i < kTokensAt + 28; i++) {
    std::string forged = bytes;
    forged[i] = static_cast<char>(forged[i] ^ 0x80);  // sizes become huge, tokens and `from` negative
    write(file, with_right_hash(forged));
    EXPECT_FALSE(found().has_value()) << "byte " << i;
  }
}

TEST_F(SnapshotFilesTest, AFileCutAnywhereIsRefused) {
  const fs::path file = put_one();
  const std::string bytes = read(file);
  for (std::size_t length = 0; length < bytes.size(); length++) {
    write(file, bytes.substr(0, length));
    EXPECT_FALSE(found().has_value()) << length << " bytes";
    if (length < 32) continue;
    write(file, with_right_hash(bytes.substr(0, length)));
    EXPECT_FALSE(found().has_value()) << length << " bytes, hashed";
  }
}

TEST_F(SnapshotFilesTest, AppendedBytesAreRefused) {
  const fs::path file = put_one();
  const std::string bytes = read(file);
  for (const std::size_t more : {1u, 32u, 1000u}) {
    write(file, bytes + std::string(more, '\0'));
    EXPECT_FALSE(found().has_value());
    write(file, with_right_hash(bytes + std::string(more, '\0')));
    EXPECT_FALSE(found().has_value());
  }
}

TEST_F(SnapshotFilesTest, AFileAboveTheLimitIsRefusedUnread) {
  const fs::path file = put_one();
  std::error_code failure;
  fs::resize_file(file, SnapshotFiles::kFileBytesMax + 1, failure);
  if (failure) GTEST_SKIP() << "no sparse files here: " << failure.message();
  EXPECT_FALSE(found().has_value());
}

TEST_F(SnapshotFilesTest, AFolderOrAPipeInTheFilesPlaceIsRefused) {
  const fs::path file = put_one();
  fs::remove(file);
  fs::create_directory(file);
  const std::unique_ptr<SnapshotFiles> files = open();
  EXPECT_FALSE(files->find(path_, 1).has_value());
  files->put(path_, 1, payload_);  // cannot replace a folder; no fault of ours
  EXPECT_FALSE(found().has_value());
  EXPECT_EQ(only_file(), file) << "nothing unfinished is left";
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(found().has_value());
}

TEST_F(SnapshotFilesTest, WantsWhatIsNotThereOrWasRefused) {
  const std::unique_ptr<SnapshotFiles> files = open();
  EXPECT_TRUE(files->wants(path_, 1));
  files->put(path_, 1, payload_);
  EXPECT_FALSE(files->wants(path_, 1));
  EXPECT_TRUE(files->wants(path_, 0));
  EXPECT_FALSE(open("model, build, settings", SnapshotAccess::kRead)->wants(path_, 0));

  write(only_file(), "damaged");
  EXPECT_FALSE(files->find(path_, 1).has_value());
  EXPECT_TRUE(files->wants(path_, 1));
  files->put(path_, 1, payload_);
  EXPECT_FALSE(files->wants(path_, 1));
  EXPECT_EQ(files->find(path_, 1), payload_);
}

TEST_F(SnapshotFilesTest, ARefusedFileGetsOneWarning) {
  write(put_one(), "damaged");
  const std::unique_ptr<SnapshotFiles> files = open();
  set_log_level(LogLevel::kWarn);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(files->find(path_, 1).has_value());
  const std::string first = ::testing::internal::GetCapturedStderr();
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(files->find(path_, 1).has_value());
  EXPECT_FALSE(files->find(path_, 0).has_value());  // absent: no warning
  const std::string then = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(first.find(only_file().string() + "' is ignored: it is too short"), std::string::npos) << first;
  EXPECT_EQ(then, "");
}

TEST_F(SnapshotFilesTest, OpeningSaysWhatIsThere) {
  open("other")->put(path_, 1, payload_);
  open("another")->put(path_, 1, payload_);
  open()->put(path_, 1, payload_);
  write(dir_ / "notes.txt", "not a snapshot");
  write(dir_ / "cut.assay-prefix", "ASSAY");
  set_log_level(LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  open();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("has 1 file for this model, build and settings; 3 for others are ignored"), std::string::npos)
      << log;
}

TEST_F(SnapshotFilesTest, AFolderThatIsNotThereIsMadeOnlyForWriting) {
  const std::string deep = (dir_ / "a" / "b").string();
  const Result<std::unique_ptr<SnapshotFiles>> missing = SnapshotFiles::open(deep, "i", SnapshotAccess::kRead);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find(deep), std::string::npos);
  EXPECT_TRUE(SnapshotFiles::open(deep, "i", SnapshotAccess::kReadWrite).ok());
  EXPECT_TRUE(fs::is_directory(deep));
}

TEST_F(SnapshotFilesTest, AFileIsNoFolder) {
  fs::create_directory(dir_);
  const std::string file = (dir_ / "file").string();
  write(file, "x");
  for (const std::string& path : {file, file + "/below"}) {
    const Result<std::unique_ptr<SnapshotFiles>> files = SnapshotFiles::open(path, "i", SnapshotAccess::kReadWrite);
    ASSERT_FALSE(files.ok());
    EXPECT_EQ(files.error().code, ErrorCode::kIo);
    EXPECT_NE(files.error().message.find(path), std::string::npos);
  }
}

// Root may write anywhere, so it steps down for the test.
TEST_F(SnapshotFilesTest, AFolderWithoutRightsIsReadButNotWritten) {
  put_one();
  const std::unique_ptr<SnapshotFiles> before = open();
  fs::permissions(dir_, fs::perms{0555});
  const uid_t user = geteuid();
  if (user == 0 && seteuid(65534) != 0) GTEST_SKIP() << "root that cannot become another user";
  before->put(path_, 0, payload_);
  const bool wrote = std::distance(fs::directory_iterator(dir_), {}) != 1;
  const std::optional<std::string> read = open("model, build, settings", SnapshotAccess::kRead)->find(path_, 1);
  const Result<std::unique_ptr<SnapshotFiles>> writable =
      SnapshotFiles::open(dir_.string(), "i", SnapshotAccess::kReadWrite);
  if (user == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(dir_, fs::perms{0755});
  EXPECT_FALSE(wrote);
  EXPECT_EQ(read, payload_);
  ASSERT_FALSE(writable.ok());
  EXPECT_EQ(writable.error().code, ErrorCode::kIo);
}

// As on a full disk: the file breaks off after 64 bytes.
TEST_F(SnapshotFilesTest, AFailedWriteLeavesNothing) {
  const std::unique_ptr<SnapshotFiles> files = open();
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 64, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  files->put(path_, 1, payload_);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(fs::is_empty(dir_));
  EXPECT_TRUE(files->wants(path_, 1));
  files->put(path_, 1, payload_);
  EXPECT_EQ(files->find(path_, 1), payload_);
}

TEST_F(SnapshotFilesTest, FailedWritesGetOneWarning) {
  const std::unique_ptr<SnapshotFiles> files = open();
  fs::remove_all(dir_);
  set_log_level(LogLevel::kWarn);
  ::testing::internal::CaptureStderr();
  files->put(path_, 1, payload_);
  files->put(path_, 0, payload_);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("cannot be written: No such file"), std::string::npos) << log;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

// Two objects, as two processes would have.
TEST_F(SnapshotFilesTest, TwoThatWriteTheSameFileDoNotDisturbEachOther) {
  const std::string payload(100000, 'x');
  const auto put_often = [&](SnapshotFiles& files) {
    for (int i = 0; i < 20; i++) {
      files.put(path_, 1, payload);
      EXPECT_EQ(files.find(path_, 1), payload);
    }
  };
  const std::unique_ptr<SnapshotFiles> one = open();
  const std::unique_ptr<SnapshotFiles> two = open();
  std::thread other([&] { put_often(*two); });
  put_often(*one);
  other.join();
  only_file();
}

}  // namespace
}  // namespace assay::service
