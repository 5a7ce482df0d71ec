#include "cli/tar_format.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

// A reader of bytes that are handed out `piece` at a time.
class Tape {
 public:
  explicit Tape(std::string bytes, std::size_t piece = 300) : bytes_(std::move(bytes)), piece_(piece) {}

  TarReader reader() {
    return TarReader([this](char* out, std::size_t size) -> Result<std::size_t> {
      const std::size_t count = bytes_.copy(out, std::min(size, piece_), at_);
      at_ += count;
      return count;
    });
  }

 private:
  const std::string bytes_;
  const std::size_t piece_;
  std::size_t at_ = 0;
};

std::string file(const std::string& name, const std::string& text) {
  return tar_header({.name = name, .bytes = text.size()}) + text + tar_padding(text.size());
}

// Puts `text` into a header at `at` and sets the checksum right again.
std::string changed(std::string header, std::size_t at, std::string_view text) {
  header.replace(at, text.size(), text);
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (std::size_t i = 0; i < kTarBlockBytes; ++i) sum += static_cast<unsigned char>(header[i]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  header.replace(148, 7, digits, 7);
  return header;
}

std::string read_all(TarReader& reader) {
  std::string out;
  char piece[7];
  for (;;) {
    const Result<std::size_t> got = reader.read(piece, sizeof piece);
    if (!got.ok()) return "error: " + got.error().message;
    if (*got == 0) return out;
    out.append(piece, *got);
  }
}

std::string error_of(const std::string& bytes) {
  Tape tape(bytes);
  TarReader reader = tape.reader();
  for (;;) {
    const Result<std::optional<TarEntry>> entry = reader.next();
    if (!entry.ok()) return entry.error().message;
    if (!entry->has_value()) return "";
  }
}

TEST(TarFormat, AHeaderIsUstarsByteForByte) {
  const std::string header = tar_header({.name = "m.gguf", .bytes = 1000});
  ASSERT_EQ(header.size(), kTarBlockBytes);
  EXPECT_EQ(header.substr(0, 7), std::string("m.gguf\0", 7));
  EXPECT_EQ(header.substr(100, 24), std::string("0000644\0"
                                                "0000000\0"
                                                "0000000\0",
                                                24));
  EXPECT_EQ(header.substr(124, 24), std::string("00000001750\0"
                                                "00000000000\0",
                                                24));
  // m.gguf 580, mode 350, owner and group 672, size 541, time 528, type 48, "ustar00" 655, devices 672, eight spaces
  // 256.
  EXPECT_EQ(header.substr(148, 8), std::string("010316\0 ", 8));
  EXPECT_EQ(header[156], '0');
  EXPECT_EQ(header.substr(257, 8), std::string("ustar\00000", 8));
}

TEST(TarFormat, WhatIsWrittenIsReadAgain) {
  const std::string archive = file("a", "first") + file("b/c", std::string(512, 'x')) + file("d", "") + tar_end();
  EXPECT_EQ(archive.size() % kTarBlockBytes, 0u);
  for (const std::size_t piece : {1, 511, 512, 4096}) {
    Tape tape(archive, piece);
    TarReader reader = tape.reader();
    Result<std::optional<TarEntry>> entry = reader.next();
    ASSERT_TRUE(entry.ok() && entry->has_value());
    EXPECT_EQ((*entry)->name, "a");
    EXPECT_EQ(read_all(reader), "first");
    entry = reader.next();
    ASSERT_TRUE(entry.ok() && entry->has_value());
    EXPECT_EQ((*entry)->name, "b/c");
    EXPECT_EQ((*entry)->bytes, 512u);
    entry = reader.next();  // past what was not read
    ASSERT_TRUE(entry.ok() && entry->has_value());
    EXPECT_EQ((*entry)->name, "d");
    EXPECT_EQ(read_all(reader), "");
    entry = reader.next();
    ASSERT_TRUE(entry.ok());
    EXPECT_FALSE(entry->has_value());
  }
}

TEST(TarFormat, EightGibibytesAndMoreGoIntoAPaxHeader) {
  EXPECT_EQ(tar_header({.name = "m", .bytes = 8 * kGib - 1}).size(), kTarBlockBytes);
  const std::string header = tar_header({.name = "m", .bytes = 9 * kGib});
  ASSERT_EQ(header.size(), 3 * kTarBlockBytes);
  EXPECT_EQ(header[156], 'x');
  EXPECT_EQ(header.substr(512, 20), "19 size=9663676416\n" + std::string(1, '\0'));
  Tape tape(header);
  TarReader reader = tape.reader();
  const Result<std::optional<TarEntry>> entry = reader.next();
  ASSERT_TRUE(entry.ok() && entry->has_value());
  EXPECT_EQ((*entry)->name, "m");
  EXPECT_EQ((*entry)->bytes, 9 * kGib);
}

TEST(TarFormat, ALongNameGoesIntoAPaxHeader) {
  for (const std::size_t length : {99, 100, 101, 255}) {
    const std::string name(length, 'n');
    const std::string header = tar_header({.name = name, .bytes = 0});
    EXPECT_EQ(header.size(), (length > 100 ? 3 : 1) * kTarBlockBytes);
    Tape tape(header);
    TarReader reader = tape.reader();
    const Result<std::optional<TarEntry>> entry = reader.next();
    ASSERT_TRUE(entry.ok() && entry->has_value());
    EXPECT_EQ((*entry)->name, name);
  }
}

TEST(TarFormat, ReadsWhatOtherTarsWrite) {
  // A folder, a leading "./", a global header, a prefix, and GNU's form of a number.
  const std::string folder = changed(tar_header({.name = "./", .bytes = 0}), 156, "5");
  const std::string global = changed(tar_header({.name = "g", .bytes = 0}), 156, "g");
  const std::string gnu_size =
      changed(tar_header({.name = "b", .bytes = 0}), 124, std::string_view("\x80\0\0\0\0\0\0\0\0\0\0\2", 12));
  Tape tape(folder + global + changed(file("./a//x", "1"), 345, "pre/fix") + gnu_size + "ok" + tar_padding(2) +
            tar_end());
  TarReader reader = tape.reader();
  Result<std::optional<TarEntry>> entry = reader.next();
  ASSERT_TRUE(entry.ok() && entry->has_value()) << (entry.ok() ? "" : entry.error().message);
  EXPECT_EQ((*entry)->name, "pre/fix/a/x");
  entry = reader.next();
  ASSERT_TRUE(entry.ok() && entry->has_value());
  EXPECT_EQ((*entry)->bytes, 2u);
  EXPECT_EQ(read_all(reader), "ok");
}

TEST(TarFormat, SaysWhatIsBroken) {
  const std::string good = file("a", "text");
  EXPECT_NE(error_of(good).find("without its end mark"), std::string::npos);
  EXPECT_NE(error_of(good.substr(0, 700)).find("ends inside a file"), std::string::npos);
  EXPECT_NE(error_of(good.substr(0, 300)).find("ends inside a block"), std::string::npos);
  EXPECT_NE(error_of("x" + good.substr(1) + tar_end()).find("checksum"), std::string::npos);
  EXPECT_NE(error_of(changed(good, 124, "nonsense")).find("a size is no number"), std::string::npos);
  for (const char* type : {"1", "2", "3", "L"})
    EXPECT_NE(error_of(changed(good, 156, type) + tar_end()).find("no regular file"), std::string::npos) << type;
  for (const char* name : {"/etc/x", "../x", "a/../../x", "."})
    EXPECT_NE(error_of(file(name, "") + tar_end()).find("leads out"), std::string::npos) << name;
}

TEST(TarFormat, SaysWhatIsBrokenInAPaxHeader) {
  const auto with_records = [](const std::string& records) {
    return changed(tar_header({.name = "p", .bytes = records.size()}), 156, "x") + records +
           tar_padding(records.size()) + file("a", "") + tar_end();
  };
  EXPECT_EQ(error_of(with_records("9 path=b\n")), "");
  EXPECT_EQ(error_of(with_records("16 mtime=1234.5\n")), "");
  for (const char* records : {"x", "0 path=b\n", "99 path=b\n", "9 path=bc", "9:path=b\n", "7 path\n", "9 size=x\n",
                              "10 size=-1\n", "29 size=18446744073709551615\n"})
    EXPECT_NE(error_of(with_records(records)), "") << records;
}

}  // namespace
}  // namespace assay::cli
