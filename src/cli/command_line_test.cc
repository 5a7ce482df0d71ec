#include "cli/command_line.h"

#include <map>

#include <gtest/gtest.h>

#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() {
    commands_.push_back({.name = "serve", .summary = "Serve", .examples = "", .options = {}});
    commands_.push_back(
        {.name = "score", .summary = "Score rows", .examples = "Example: assay score x", .options = {}});
    commands_[0].options = {
        with_short_name(number_option("threads", "N", "Threads", &threads_, 0, 64), "t"),
        switch_option("no-mmap", "Read", &no_mmap_),
        list_option("api-key", "KEY", "A key", &keys_),
        choice_option("readout", "Readout", {"auto", "letters", "text"}, &readout_),
        as_request_only(text_option("state", "TEXT", "State", &state_)),
    };
    commands_[1].options = {as_positional(list_option("FILE", "FILE", "Files", &files_)),
                            number_option("limit", "N", "Rows", &limit_, 0, 100)};
  }

  Result<ParsedCommand> parse(const std::vector<std::string>& words) {
    return parse_command_line(commands_, words, [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment_.find(name);
      if (found == environment_.end()) return std::nullopt;
      return found->second;
    });
  }

  std::string failure(const std::vector<std::string>& words) {
    const Result<ParsedCommand> parsed = parse(words);
    return parsed.ok() ? "no failure" : parsed.error().message;
  }

  int threads_ = 1;
  int limit_ = 5;
  bool no_mmap_ = false;
  std::string state_;
  std::string readout_ = "auto";
  std::vector<std::string> keys_;
  std::vector<std::string> files_;
  std::map<std::string, std::string> environment_;
  std::vector<CommandSpec> commands_;
  TempDir dir_;
};

TEST_F(CommandLineTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const std::string file = dir_.write("assay.toml", "threads = 4\nno_mmap = true\n[serve]\napi-key = [\"a\", \"b\"]\n");
  ASSERT_TRUE(parse({"serve"}).ok());
  EXPECT_EQ(threads_, 1);
  ASSERT_TRUE(parse({"serve", "--config", file}).ok());
  EXPECT_EQ(threads_, 4);
  EXPECT_TRUE(no_mmap_);
  EXPECT_EQ(keys_, (std::vector<std::string>{"a", "b"}));
  environment_ = {{"ASSAY_CONFIG", file}, {"ASSAY_THREADS", "8"}, {"ASSAY_NO_MMAP", "off"}};
  ASSERT_TRUE(parse({"serve"}).ok());
  EXPECT_EQ(threads_, 8);
  EXPECT_FALSE(no_mmap_);
  ASSERT_TRUE(parse({"serve", "-t", "16"}).ok());
  EXPECT_EQ(threads_, 16);
}

TEST_F(CommandLineTest, JsonConfigMeansTheSame) {
  const std::string file =
      dir_.write("assay.json", R"({"threads": 4, "no-mmap": true, "serve": {"threads": 6, "api_key": ["a"]}})");
  ASSERT_TRUE(parse({"serve", "--config", file}).ok());
  EXPECT_EQ(threads_, 6);
  EXPECT_TRUE(no_mmap_);
  EXPECT_EQ(keys_, std::vector<std::string>{"a"});
}

TEST_F(CommandLineTest, KeysOfOtherCommandsAreAllowedInAConfigFile) {
  const std::string file = dir_.write("assay.toml", "limit = 7\n");
  ASSERT_TRUE(parse({"serve", "--config", file}).ok());
  EXPECT_EQ(limit_, 5);
}

TEST_F(CommandLineTest, ConfigFaultsAreNamed) {
  EXPECT_EQ(parse({"serve", "--config", dir_.path("none.toml")}).error().code, ErrorCode::kNotFound);
  const auto with = [this](const std::string& name, const std::string& text) {
    return failure({"serve", "--config", dir_.write(name, text)});
  };
  EXPECT_NE(with("a.toml", "thread = 4\n").find("unknown key 'thread', did you mean 'threads'?"), std::string::npos);
  EXPECT_NE(with("a.toml", "[serv]\nthreads = 4\n").find("unknown section 'serv', did you mean 'serve'?"),
            std::string::npos);
  EXPECT_NE(with("a.toml", "threads = \"x\"\n").find("the config file's 'threads': --threads takes a whole number"),
            std::string::npos);
  EXPECT_NE(with("a.toml", "threads = [1, 2]\n").find("takes one value"), std::string::npos);
  EXPECT_NE(with("a.json", "[1]").find("is an object"), std::string::npos);
  EXPECT_NE(with("a.json", "{").find("a.json"), std::string::npos);
  EXPECT_NE(with("a.json", R"({"threads": null})").find("not a plain value"), std::string::npos);
  EXPECT_NE(with("a.json", R"({"serve": {"threads": {"a": 1}}})").find("not a plain value"), std::string::npos);
}

TEST_F(CommandLineTest, EnvironmentFaultsNameTheVariable) {
  environment_ = {{"ASSAY_THREADS", "many"}};
  EXPECT_EQ(failure({"serve"}), "ASSAY_THREADS: --threads takes a whole number from 0 to 64, not 'many'");
}

TEST_F(CommandLineTest, RequestOptionsHaveNoEnvironment) {
  environment_ = {{"ASSAY_STATE", "from the environment"}};
  ASSERT_TRUE(parse({"serve"}).ok());
  EXPECT_EQ(state_, "");
}

TEST_F(CommandLineTest, UnknownNamesSuggestTheNearest) {
  EXPECT_EQ(failure({"serve", "--thread", "4"}), "'assay serve' has no flag '--thread', did you mean '--threads'?");
  EXPECT_EQ(failure({"serve", "--thread=4"}), "'assay serve' has no flag '--thread', did you mean '--threads'?");
  EXPECT_NE(failure({"sevre"}).find("there is no command 'sevre', did you mean 'serve'?"), std::string::npos);
  EXPECT_NE(failure({"--frob"}).find("no flag '--frob'"), std::string::npos);
  EXPECT_EQ(failure({"serve", "extra"}), "'extra' is one argument too many for 'assay serve'");
}

TEST_F(CommandLineTest, ValuesAreChecked) {
  EXPECT_EQ(failure({"serve", "--threads", "65"}), "--threads takes a whole number from 0 to 64, not '65'");
  EXPECT_EQ(failure({"serve", "--threads", "4x"}), "--threads takes a whole number from 0 to 64, not '4x'");
  EXPECT_EQ(failure({"serve", "--readout", "words"}), "--readout takes one of auto, letters, text, not 'words'");
  EXPECT_NE(failure({"serve", "--threads"}).find("--threads"), std::string::npos);
}

TEST_F(CommandLineTest, RepeatedFlagsCollectAndSingleOnesTakeTheLast) {
  ASSERT_TRUE(parse({"serve", "--api-key", "a", "--api-key=[b,c]", "--threads", "2", "--threads", "3"}).ok());
  EXPECT_EQ(keys_, (std::vector<std::string>{"a", "[b,c]"}));
  EXPECT_EQ(threads_, 3);
}

TEST_F(CommandLineTest, PositionalsTakeDashAndSeveralFiles) {
  ASSERT_TRUE(parse({"score", "-", "b.jsonl", "--limit", "2"}).ok());
  EXPECT_EQ(files_, (std::vector<std::string>{"-", "b.jsonl"}));
  EXPECT_EQ(limit_, 2);
}

TEST_F(CommandLineTest, ValuesMayLookLikeAnything) {
  ASSERT_TRUE(parse({"serve", "--state", "[not a list]"}).ok());
  EXPECT_EQ(state_, "[not a list]");
  ASSERT_TRUE(parse({"serve", "--state=--threads"}).ok());
  EXPECT_EQ(state_, "--threads");
  ASSERT_TRUE(parse({"serve", "--state", "two\nlines, \"quoted\" \\n"}).ok());
  EXPECT_EQ(state_, "two\nlines, \"quoted\" \\n");
}

TEST_F(CommandLineTest, HelpNamesFlagDefaultAndEnvironment) {
  const Result<ParsedCommand> parsed = parse({"serve", "--help"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->name, "");
  for (const char* part : {"--threads", "-t", "[1]", "ASSAY_THREADS", "auto|letters|text", "--config", "--state"}) {
    EXPECT_NE(parsed->help_text.find(part), std::string::npos) << part << "\n" << parsed->help_text;
  }
  EXPECT_NE(parse({"score", "-h"})->help_text.find("Example: assay score x"), std::string::npos);
  EXPECT_NE(parse({})->help_text.find("Score rows"), std::string::npos);
  EXPECT_EQ(parse({"--version"})->name, "version");
}

TEST_F(CommandLineTest, TellsWhatFlagsSaidAsAnEnvironment) {
  const Result<ParsedCommand> parsed = parse({"serve", "-t", "3", "--threads", "4", "--no-mmap", "--api-key", "a",
                                              "--api-key", "b", "--state", "not configurable"});
  ASSERT_TRUE(parsed.ok());
  const std::map<std::string, std::string> given(parsed->given.begin(), parsed->given.end());
  const std::map<std::string, std::string> wanted = {
      {"ASSAY_THREADS", "4"}, {"ASSAY_NO_MMAP", "true"}, {"ASSAY_API_KEY", "a,b"}};
  EXPECT_EQ(given, wanted);
  environment_["ASSAY_THREADS"] = "5";
  EXPECT_TRUE(parse({"serve"})->given.empty());  // it is there already
  const Result<ParsedCommand> both = parse({"serve", "--no-mmap"});
  const std::map<std::string, std::string> settled(both->settled.begin(), both->settled.end());
  EXPECT_EQ(settled, (std::map<std::string, std::string>{{"ASSAY_THREADS", "5"}, {"ASSAY_NO_MMAP", "true"}}));
}

}  // namespace
}  // namespace assay::cli
