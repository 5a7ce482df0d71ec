#include "cli/gzip_file.h"

#include <gtest/gtest.h>

#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

class GzipFileTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text, int level = 1) const {
    const Result<std::unique_ptr<GzipWriter>> out = GzipWriter::create(dir_.path(name), level);
    ASSERT_TRUE(out.ok());
    for (std::size_t at = 0; at < text.size(); at += 1000) {
      ASSERT_TRUE((*out)->write(std::string_view(text).substr(at, 1000)).ok());
    }
    ASSERT_TRUE((*out)->finish().ok());
  }

  std::string read(const std::string& name) const {
    const Result<std::unique_ptr<GzipReader>> in = GzipReader::open(dir_.path(name));
    if (!in.ok()) return "error: " + in.error().message;
    std::string out;
    char piece[777];
    for (;;) {
      const Result<std::size_t> got = (*in)->read(piece, sizeof piece);
      if (!got.ok()) return "error: " + got.error().message;
      if (*got == 0) return out;
      out.append(piece, *got);
    }
  }

  TempDir dir_;
};

// Bytes that do not compress, so that more than one piece goes through.
std::string noise(std::size_t bytes) {
  std::string out(bytes, '\0');
  std::uint32_t state = 1;
  for (char& byte : out) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return out;
}

TEST_F(GzipFileTest, WhatIsWrittenIsReadAgain) {
  const std::string text = noise(700'000) + std::string(700'000, 'z');
  for (const int level : {0, 1, 9}) {
    write("x.gz", text, level);
    EXPECT_EQ(read("x.gz"), text) << level;
  }
  write("x.gz", "");
  EXPECT_EQ(read("x.gz"), "");
}

TEST_F(GzipFileTest, HoldsNoNameAndNoTime) {
  write("a.gz", "same");
  write("b.gz", "same");
  EXPECT_EQ(dir_.read("a.gz"), dir_.read("b.gz"));
  // Magic, deflate, no flags, time 0, (a hint of the level), system unknown.
  EXPECT_EQ(dir_.read("a.gz").substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
  EXPECT_EQ(dir_.read("a.gz")[9], '\xff');
}

TEST_F(GzipFileTest, StreamsThatFollowEachOtherAreOne) {
  write("a.gz", "one ");
  write("b.gz", "two");
  dir_.write("c.gz", dir_.read("a.gz") + dir_.read("b.gz"));
  EXPECT_EQ(read("c.gz"), "one two");
}

TEST_F(GzipFileTest, DamageIsNamed) {
  write("x.gz", noise(5000));
  const std::string good = dir_.read("x.gz");
  dir_.write("cut.gz", good.substr(0, good.size() - 1));
  EXPECT_NE(read("cut.gz").find("ends too early"), std::string::npos);
  std::string flipped = good;
  flipped[good.size() - 6] ^= 1;  // of the checksum
  dir_.write("flipped.gz", flipped);
  EXPECT_NE(read("flipped.gz").find("damaged"), std::string::npos);
  dir_.write("tail.gz", good + "tail");
  EXPECT_NE(read("tail.gz").find("damaged"), std::string::npos);
  dir_.write("none.gz", "no gzip");
  EXPECT_NE(read("none.gz").find("damaged"), std::string::npos);
  EXPECT_NE(read("missing.gz").find("No such file"), std::string::npos);
}

TEST_F(GzipFileTest, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(GzipWriter::create(dir_.path("no/folder.gz"), 1).error().code, ErrorCode::kIo);
  const Result<std::unique_ptr<GzipWriter>> full = GzipWriter::create("/dev/full", 0);
  ASSERT_TRUE(full.ok());
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = (*full)->write(std::string(100'000, 'x'));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace assay::cli
