#include "kernels/pack_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

namespace assay::kernels {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

Bytes random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  Bytes out(count);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

class PackCacheTest : public ::testing::Test {
 public:
  PackCacheTest() : folder_(fs::temp_directory_path() / ("assay-pack-cache-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    file_ = {.dir = (folder_ / "deep").string(), .identity = "model, build"};
  }
  ~PackCacheTest() override { fs::remove_all(folder_); }

 protected:
  // Nothing when the file is refused; then fault_ says why.
  bool holds(const Bytes& weights) {
    PackCacheRead read = read_pack_cache(file_, weights.size(), 2);
    fault_ = read.fault;
    return read.region && std::ranges::equal(read.region->bytes(), weights);
  }
  void write(const Bytes& weights) { EXPECT_EQ(write_pack_cache(file_, weights, 2), ""); }
  void flip(std::size_t at) {
    std::fstream file(file_.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(file_.dir), fs::directory_iterator()));
  }

  fs::path folder_;
  PackCacheFile file_;
  std::string fault_;
};

TEST_F(PackCacheTest, GivesBackWhatWasWritten) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, 2 * kMebibyte, 2 * kMebibyte + 1, 9 * kMebibyte}) {
    const Bytes weights = random_bytes(bytes, 1);
    write(weights);
    EXPECT_TRUE(holds(weights)) << bytes << " " << fault_;
    EXPECT_EQ(files(), 1u);
    EXPECT_EQ(fs::file_size(file_.path()), 2 * kMebibyte + bytes);
  }
}

TEST_F(PackCacheTest, NoFileIsNoFault) {
  EXPECT_FALSE(holds(Bytes(10)));
  EXPECT_EQ(fault_, "");
}

TEST_F(PackCacheTest, AFileOutlivesItsNameAsLongAsItIsMapped) {
  const Bytes weights = random_bytes(3 * kMebibyte, 2);
  write(weights);
  const PackCacheRead read = read_pack_cache(file_, weights.size(), 1);
  ASSERT_TRUE(read.region);
  fs::remove_all(folder_);
  EXPECT_TRUE(std::ranges::equal(read.region->bytes(), weights));
}

TEST_F(PackCacheTest, EachFlippedByteIsSeen) {
  const Bytes weights = random_bytes(4 * kMebibyte + 100, 3);
  write(weights);
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < 128 + 4 * 8; at++) places.push_back(at);  // the head, three hashes, their hash
  for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, 2 * kMebibyte - 1, 2 * kMebibyte, weights.size() - 1})
    places.push_back(2 * kMebibyte + at);
  for (const std::size_t at : places) {
    flip(at);
    EXPECT_FALSE(holds(weights)) << at;
    EXPECT_NE(fault_, "") << at;
    flip(at);
  }
  EXPECT_TRUE(holds(weights));
  flip(4 * kMebibyte + 5);
  EXPECT_FALSE(holds(weights));
  EXPECT_EQ(fault_, "block 1 is damaged");
  write(weights);
  EXPECT_TRUE(holds(weights));
}

TEST_F(PackCacheTest, OtherLengthsAreSeen) {
  const Bytes weights = random_bytes(kMebibyte, 4);
  write(weights);
  const auto whole = static_cast<off_t>(fs::file_size(file_.path()));
  for (const off_t bytes : {whole - 1, whole + 1, off_t{4096}, off_t{1}, off_t{0}}) {
    ASSERT_EQ(truncate(file_.path().c_str(), bytes), 0);
    EXPECT_FALSE(holds(weights));
    EXPECT_EQ(fault_, "it has another length");
  }
  // A hole of the right length: what a power cut may leave.
  ASSERT_EQ(truncate(file_.path().c_str(), whole), 0);
  EXPECT_FALSE(holds(weights));
  EXPECT_EQ(fault_, "it is of another model, build or format");
}

TEST_F(PackCacheTest, FilesOfOthersUnderItsNameAreSeen) {
  const Bytes weights = random_bytes(1000, 5);
  PackCacheFile other = file_;
  other.identity = "another model";
  ASSERT_EQ(write_pack_cache(other, weights, 1), "");
  EXPECT_NE(other.path(), file_.path());
  fs::rename(other.path(), file_.path());
  EXPECT_FALSE(holds(weights));
  EXPECT_EQ(fault_, "it is of another model, build or format");
  fs::remove(file_.path());
  fs::create_directory(file_.path());
  EXPECT_FALSE(holds(weights));
  EXPECT_EQ(fault_, "it is not a plain file");
  EXPECT_NE(write_pack_cache(file_, weights, 1), "");  // a folder is in its place
  EXPECT_EQ(files(), 1u);
  fs::remove(file_.path());
  ASSERT_EQ(mkfifo(file_.path().c_str(), 0600), 0);
  EXPECT_FALSE(holds(weights));
  EXPECT_EQ(fault_, "it is not a plain file");
}

TEST_F(PackCacheTest, AFolderThatCannotBeMadeIsSaid) {
  fs::create_directories(folder_);
  std::ofstream(file_.dir) << "a file";
  EXPECT_EQ(write_pack_cache(file_, Bytes(10), 1), "Not a directory");
}

TEST_F(PackCacheTest, AFullDiskLeavesNothingBehind) {
  const Bytes weights = random_bytes(kMebibyte, 6);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 100000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string fault = write_pack_cache(file_, weights, 2);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_action);
  EXPECT_EQ(fault, "File too large");
  EXPECT_EQ(files(), 0u);
}

TEST_F(PackCacheTest, WhatKilledWritersLeftIsRemovedAndWhatIsBeingWrittenIsNot) {
  fs::create_directories(file_.dir);
  const std::string dead = file_.path() + ".1.unfinished";
  const std::string alive = file_.path() + ".2.unfinished";
  const std::string foreign = file_.dir + "/other.assay-packed.3.unfinished";
  for (const std::string& path : {dead, alive, foreign}) std::ofstream(path) << "half";
  const int writer = open(alive.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  write(random_bytes(100, 7));
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(foreign));
  close(writer);
}

TEST_F(PackCacheTest, ManyWritersAtOnceLeaveOneWholeFile) {
  for (int round = 0; round < 50; round++) {
    const Bytes weights = random_bytes(round == 0 ? 5 * kMebibyte : 1000, 8);
    std::vector<std::thread> writers;
    std::vector<std::string> faults(4, "not run");
    for (std::string& fault : faults) writers.emplace_back([&] { fault = write_pack_cache(file_, weights, 1); });
    for (std::thread& writer : writers) writer.join();
    ASSERT_EQ(faults, std::vector<std::string>(4)) << round;
    ASSERT_TRUE(holds(weights)) << fault_;
    ASSERT_EQ(files(), 1u);
  }
}

}  // namespace
}  // namespace assay::kernels
