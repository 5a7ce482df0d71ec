#include "cli/pack_command.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "cli/gzip_file.h"
#include "cli/pack_files.h"
#include "cli/pack_manifest.h"
#include "cli/tar_format.h"
#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

std::string file(const std::string& name, const std::string& text) {
  return tar_header({.name = name, .bytes = text.size()}) + text + tar_padding(text.size());
}

class PackTest : public ::testing::Test {
 protected:
  PackTest() {
    flags_.model = dir_.write("m.gguf", "GGUFweights");
    flags_.output = dir_.path("model.tar.gz");
  }

  int run() { return run(flags_); }

  int run(const PackFlags& flags) {
    out_.str("");
    err_.str("");
    std::istringstream in;
    Streams streams{.in = in, .out = out_, .err = err_};
    return run_pack(flags, streams, {.clock = clock_, .stop = stop_});
  }

  int verify() {
    PackFlags flags;
    flags.verify = flags_.output;
    return run(flags);
  }

  // An archive of these tar bytes in the output's place.
  void archive(const std::string& tar) const {
    const Result<std::unique_ptr<GzipWriter>> out = GzipWriter::create(flags_.output, 1);
    ASSERT_TRUE(out.ok() && (*out)->write(tar).ok() && (*out)->finish().ok());
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    const Result<std::unique_ptr<GzipReader>> gzip = GzipReader::open(flags_.output);
    TarReader reader([&gzip](char* bytes, std::size_t size) { return (*gzip)->read(bytes, size); });
    for (;;) {
      const Result<std::optional<TarEntry>> entry = reader.next();
      if (!entry.ok()) return {"error: " + entry.error().message};
      if (!entry->has_value()) return out;
      out.push_back((*entry)->name);
    }
  }

  bool left_behind() const { return fs::exists(flags_.output + ".unfinished"); }

  TempDir dir_;
  PackFlags flags_;
  ManualClock clock_;
  std::atomic<bool> stop_{false};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(PackTest, PacksTheModelItsRecordTheOthersAndTheSnapshots) {
  dir_.write("m.gguf.assay.json", "{}");
  fs::create_directory(dir_.path("snapshots"));
  dir_.write("snapshots/b.assay-prefix", "b");
  dir_.write("snapshots/a.assay-prefix", "a");
  dir_.write("snapshots/c.unfinished", "half");
  flags_.snapshots = dir_.path("snapshots");
  flags_.others = {dir_.write("template.jinja", "t"), dir_.write("mmproj.gguf", "GGUFp")};
  ASSERT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(names(),
            (std::vector<std::string>{"manifest.json", "m.gguf", "m.gguf.assay.json", "mmproj.gguf", "template.jinja",
                                      "snapshots/a.assay-prefix", "snapshots/b.assay-prefix"}));
  EXPECT_NE(out_.str().find("6 files"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("sha256 " + sha256_hex_of_file(flags_.output)), std::string::npos);
  EXPECT_FALSE(left_behind());
  EXPECT_EQ(verify(), 0) << err_.str();
  EXPECT_NE(out_.str().find("6 files as the manifest says, model m.gguf"), std::string::npos) << out_.str();
}

TEST_F(PackTest, EqualInputGivesEqualBytes) {
  ASSERT_EQ(run(), 0);
  const std::string first = dir_.read("model.tar.gz");
  fs::create_directory(dir_.path("elsewhere"));
  flags_.model = dir_.write("elsewhere/m.gguf", "GGUFweights");
  fs::last_write_time(flags_.model, fs::file_time_type() + std::chrono::hours(24));
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(dir_.read("model.tar.gz"), first);
}

TEST_F(PackTest, AnyShardBringsAllOfThem) {
  for (const char* shard : {"s-00001-of-00003.gguf", "s-00002-of-00003.gguf", "s-00003-of-00003.gguf"})
    dir_.write(shard, "GGUF" + std::string(shard));
  dir_.write("s-00001-of-00003.gguf.assay.json", "{}");
  flags_.model = dir_.path("s-00002-of-00003.gguf");
  const Result<PackList> list = pack_list({.model = flags_.model, .snapshots = "", .others = {}});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->model, "s-00001-of-00003.gguf");
  EXPECT_EQ(list->files.size(), 4u);
  fs::remove(dir_.path("s-00003-of-00003.gguf"));
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("s-00003-of-00003.gguf' is missing: shard 3 of 3"), std::string::npos) << err_.str();
  flags_.model = dir_.write("s-00004-of-00003.gguf", "GGUF");
  EXPECT_EQ(run(), 2);
}

TEST_F(PackTest, LinksAreFollowed) {
  fs::create_symlink("m.gguf", dir_.path("link.gguf"));
  flags_.model = dir_.path("link.gguf");
  ASSERT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(names(), (std::vector<std::string>{"manifest.json", "link.gguf"}));
  EXPECT_EQ(verify(), 0) << err_.str();
}

TEST_F(PackTest, WrongFlagsAndFilesAreNamed) {
  const auto error = [this](const PackFlags& flags) {
    EXPECT_EQ(run(flags), 2);
    EXPECT_EQ(out_.str(), "");
    return err_.str();
  };
  PackFlags flags = flags_;
  flags.model = "";
  EXPECT_NE(error(flags).find("MODEL"), std::string::npos);
  flags.model = dir_.path("none.gguf");
  EXPECT_NE(error(flags).find("none.gguf"), std::string::npos);
  flags.model = dir_.write("text.gguf", "text");
  EXPECT_NE(error(flags).find("no GGUF"), std::string::npos);
  flags = flags_;
  flags.output = "";
  EXPECT_NE(error(flags).find("-o"), std::string::npos);
  flags.output = dir_.path("model.zip");
  EXPECT_NE(error(flags).find(".tar.gz"), std::string::npos);
  flags = flags_;
  flags.snapshots = dir_.path("none");
  EXPECT_NE(error(flags).find("--snapshots"), std::string::npos);
  fs::create_directory(dir_.path("empty"));
  flags.snapshots = dir_.path("empty");
  EXPECT_NE(error(flags).find("holds no"), std::string::npos);
  flags = flags_;
  flags.others = {flags_.model};
  EXPECT_NE(error(flags).find("two files"), std::string::npos);
  flags.others = {dir_.write("manifest.json", "{}")};
  EXPECT_NE(error(flags).find("two files"), std::string::npos);
  flags = flags_;
  flags.verify = flags_.output;
  EXPECT_NE(error(flags).find("--verify"), std::string::npos);
}

TEST_F(PackTest, AnOutputThatCannotBeWrittenIsAnError) {
  flags_.output = dir_.path("no/folder.tar.gz");
  EXPECT_EQ(run(), 1);
  EXPECT_NE(err_.str().find("cannot create"), std::string::npos) << err_.str();
  flags_.output = dir_.path("folder.tar.gz");
  fs::create_directories(flags_.output + "/inside");
  EXPECT_EQ(run(), 1);
  EXPECT_FALSE(left_behind());
}

TEST_F(PackTest, AStopLeavesNothingBehind) {
  stop_ = true;
  EXPECT_EQ(run(), 130);
  EXPECT_FALSE(fs::exists(flags_.output));
  EXPECT_FALSE(left_behind());
  stop_ = false;
  ASSERT_EQ(run(), 0);
  stop_ = true;
  EXPECT_EQ(verify(), 130);
}

TEST_F(PackTest, VerifyNamesEveryDifference) {
  const Manifest manifest{.assay = "1",
                          .model = "a",
                          .files = {{.name = "a", .bytes = 1, .sha256 = sha256_hex("a")},
                                    {.name = "b", .bytes = 1, .sha256 = sha256_hex("b")},
                                    {.name = "c", .bytes = 1, .sha256 = sha256_hex("c")}}};
  const std::string said = file("manifest.json", manifest_text(manifest));
  archive(file("c", "c") + said + file("a", "a") + file("b", "b") + tar_end());
  EXPECT_EQ(verify(), 0) << err_.str();
  archive(said + file("a", "x") + file("b", "bb") + file("d", "d") + file("d", "d") + tar_end());
  EXPECT_EQ(verify(), 1);
  for (const char* finding : {"'a' has the sha256", "'b' has 2 bytes, not 1", "'c' is in the manifest and not",
                              "'d' is in the archive and not", "'d' is in the archive twice"})
    EXPECT_NE(err_.str().find(finding), std::string::npos) << finding << "\n" << err_.str();
}

TEST_F(PackTest, VerifyRefusesWhatIsNoArchive) {
  EXPECT_EQ(verify(), 2);  // it does not exist
  dir_.write("model.tar.gz", "text");
  EXPECT_EQ(verify(), 1);
  archive(file("a", "a") + tar_end());
  EXPECT_EQ(verify(), 1);
  EXPECT_NE(err_.str().find("no manifest.json"), std::string::npos);
  archive(file("manifest.json", "[]") + tar_end());
  EXPECT_EQ(verify(), 1);
  // Cut short behind the tar's end, where only gzip's own checksum is missing.
  ASSERT_EQ(run(), 0);
  const std::string good = dir_.read("model.tar.gz");
  dir_.write("model.tar.gz", good.substr(0, good.size() - 4));
  EXPECT_EQ(verify(), 1);
}

TEST(PackManifest, WhatIsWrittenIsReadAgain) {
  const Manifest manifest{
      .assay = "0.1.0", .model = "m", .files = {{.name = "m", .bytes = 1ULL << 40, .sha256 = sha256_hex("")}}};
  const Result<Manifest> read = parse_manifest(manifest_text(manifest));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, manifest);
}

TEST(PackManifest, BrokenOnesAreRefused) {
  const std::string head = R"({"format": "assay-model-archive-1", "assay": "1", "model": "m", "files": )";
  EXPECT_TRUE(parse_manifest(head + "[]}").ok());
  const std::string sum = sha256_hex("");
  for (const std::string& text :
       {std::string("{"), std::string("{}"), std::string(R"({"format": "x", "assay": "1", "model": "m", "files": []})"),
        head + "3}", head + "[3]}", head + R"([{"name": "a", "bytes": 1, "sha256": "short"}]})",
        head + R"([{"name": "a", "bytes": -1, "sha256": ")" + sum + R"("}]})",
        head + R"([{"name": "a", "bytes": 1.0, "sha256": ")" + sum + R"("}]})",
        head + R"([{"name": "a", "sha256": ")" + sum + R"("}]})"}) {
    const Result<Manifest> read = parse_manifest(text);
    EXPECT_FALSE(read.ok()) << text;
  }
}

}  // namespace
}  // namespace assay::cli
