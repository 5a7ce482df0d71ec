#include "cli/decisions_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "store/testing/store_fixture.h"

namespace assay::cli {
namespace {

class DecisionsCommandTest : public store::StoreTest {
 protected:
  int run(const DecisionsFlags& flags) {
    out_.str("");
    err_.str("");
    std::istringstream in;
    Streams streams{.in = in, .out = out_, .err = err_};
    return run_decisions(flags, streams);
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DecisionsCommandTest, WritesWhatIsKeptAlsoWhileAServerKeepsIt) {
  options_.writer.keep = store::Keep::kTexts;
  store::DecisionStore& store = open();
  for (const char* id : {"d1", "d2", "d3"}) store.record(store::plain_record(id));
  ASSERT_TRUE(store.flush().ok());
  EXPECT_EQ(run({.what = "export", .from = path()}), kExitOk);
  const std::string all = out_.str();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 3);
  EXPECT_TRUE(all.starts_with(R"({"id": "d1", "place": 1, )")) << all;
  EXPECT_NE(all.find(R"("request": {"decision": )"), std::string::npos);
  EXPECT_EQ(run({.what = "export", .from = path(), .after = 1, .limit = 1}), kExitOk);
  EXPECT_TRUE(out_.str().starts_with(R"({"id": "d2")")) << out_.str();
  const std::string file = folder_ + "/kept.jsonl";
  EXPECT_EQ(run({.what = "export", .from = path(), .output = file}), kExitOk);
  EXPECT_EQ(out_.str(), "");
  std::ostringstream written;
  written << std::ifstream(file).rdbuf();
  EXPECT_EQ(written.str(), all);
}

TEST_F(DecisionsCommandTest, AFolderOfLessonsHasItsFile) {
  std::filesystem::create_directory(folder_ + "/lessons");
  const auto opened = store::DecisionStore::open(folder_ + "/lessons/" + kDecisionsFile, options_);
  ASSERT_TRUE(opened.ok());
  (*opened)->record(store::plain_record("d1"));
  (*opened)->close();
  EXPECT_EQ(run({.what = "export", .from = folder_ + "/lessons"}), kExitOk);
  EXPECT_TRUE(out_.str().starts_with(R"({"id": "d1")")) << out_.str();
}

TEST_F(DecisionsCommandTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(run({.what = "", .from = path()}), kExitUsage);
  EXPECT_EQ(run({.what = "export"}), kExitUsage);
  EXPECT_NE(err_.str().find("--from"), std::string::npos);
  const std::string file = folder_ + "/kept.jsonl";
  EXPECT_NE(run({.what = "export", .from = folder_ + "/none.sqlite", .output = file}), kExitOk);
  EXPECT_NE(err_.str().find("none.sqlite"), std::string::npos) << err_.str();
  EXPECT_FALSE(std::filesystem::exists(file));
  open().record(store::plain_record("d1"));
  ASSERT_TRUE(store_->flush().ok());
  EXPECT_NE(run({.what = "export", .from = path(), .output = folder_ + "/none/kept.jsonl"}), kExitOk);
}

}  // namespace
}  // namespace assay::cli
