#include "cli/commands.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "cli/command_line.h"
#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

class CommandsTest : public ::testing::Test {
 protected:
  CommandsTest() : commands_(all_commands(flags_)) {}

  Result<ParsedCommand> parse(const std::vector<std::string>& words,
                              const std::map<std::string, std::string>& environment = {}) {
    return parse_command_line(commands_, words, [&](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
    });
  }

  CommandFlags flags_;
  std::vector<CommandSpec> commands_;
};

TEST_F(CommandsTest, NamesAreUniqueInACommandAndMeanOneThingEverywhere) {
  std::map<std::string, OptionKind> kinds;
  for (const CommandSpec& command : commands_) {
    std::set<std::string> seen;
    for (const OptionSpec& option : command.options) {
      EXPECT_TRUE(seen.insert(option.name).second) << command.name << " " << option.name;
      if (!option.short_name.empty()) {
        EXPECT_TRUE(seen.insert("-" + option.short_name).second) << option.short_name;
      }
      EXPECT_FALSE(option.help.empty()) << option.name;
      if (option.configurable) {
        EXPECT_EQ(kinds.emplace(option.name, option.kind).first->second, option.kind) << option.name;
      }
    }
  }
}

TEST_F(CommandsTest, EveryCommandHasCompleteHelp) {
  for (const CommandSpec& command : commands_) {
    const Result<ParsedCommand> parsed = parse({command.name, "--help"});
    ASSERT_TRUE(parsed.ok());
    for (const OptionSpec& option : command.options) {
      EXPECT_NE(parsed->help_text.find(option.positional ? option.name : "--" + option.name), std::string::npos)
          << command.name << " " << option.name;
    }
  }
}

TEST_F(CommandsTest, DecideTakesOptionsWithEqualsSigns) {
  ASSERT_TRUE(
      parse({"decide", "--state", "s", "-q", "What?", "--option", "refund=Wants money back", "--option=info", "--json"})
          .ok());
  EXPECT_EQ(flags_.decide.question.options, (std::vector<std::string>{"refund=Wants money back", "info"}));
  EXPECT_TRUE(flags_.decide.json);
}

TEST_F(CommandsTest, ModelFlagsReachTheDeciderOptions) {
  const TempDir dir;
  const std::string chat_template = dir.write("t.jinja", "{{ x }}");
  ASSERT_TRUE(parse({"serve",
                     "m.gguf",
                     "-t",
                     "3",
                     "--context-tokens",
                     "4096",
                     "--batch-tokens",
                     "64",
                     "--sequences-max",
                     "8",
                     "--gpu-layers",
                     "-1",
                     "--flash-attention",
                     ModelOptions{}.flash_attention ? "off" : "on",
                     "--cache-tokens",
                     "77",
                     "--pack",
                     "panel",
                     "--pack-cache",
                     "packs",
                     "--no-extra-buffers",
                     "--no-mmap",
                     "--chat-template",
                     chat_template,
                     "--readout",
                     "text",
                     "--special-tokens",
                     "reject",
                     "--no-readout-check",
                     "--no-start-check",
                     "--check-dir",
                     "d",
                     "--options-max",
                     "9",
                     "--queue-jobs-max",
                     "5"},
                    {{"ASSAY_MODEL", "env.gguf"}})
                  .ok());
  EXPECT_EQ(flags_.serve.positional_model, "m.gguf");
  EXPECT_EQ(flags_.serve.model.model, "env.gguf");
  const Result<DeciderOptions> options = decider_options(flags_.serve.model);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->model.threads, 3);
  EXPECT_EQ(options->model.context_tokens, 4096);
  EXPECT_EQ(options->model.batch_tokens, 64);
  EXPECT_EQ(options->model.sequences_max, 8);
  EXPECT_EQ(options->model.gpu_layers, -1);
  EXPECT_NE(options->model.flash_attention, ModelOptions{}.flash_attention);
  EXPECT_EQ(options->model.cache_tokens, 77);
  EXPECT_FALSE(options->model.extra_buffers);
  EXPECT_EQ(options->model.packing, Packing::kPanel);
  EXPECT_EQ(options->model.pack_cache_dir, "packs");
  EXPECT_FALSE(options->model.mmap);
  EXPECT_EQ(options->model.chat_template, "{{ x }}");
  EXPECT_EQ(options->readout, Readout::kText);
  EXPECT_EQ(options->special_tokens, SpecialTokens::kReject);
  EXPECT_FALSE(options->readout_check);
  EXPECT_FALSE(options->start_check);
  EXPECT_EQ(options->check_dir, "d");
  EXPECT_EQ(options->limits.options_max, 9u);
  EXPECT_EQ(options->queue_jobs_max, 5u);
}

TEST_F(CommandsTest, FlashAttentionTakesTheWordsOfASwitch) {
  for (const auto& [word, on] : std::map<std::string, bool>{{"on", true}, {"off", false}, {"1", true}, {"no", false}}) {
    ASSERT_TRUE(parse({"decide", "--flash-attention", word}).ok());
    EXPECT_EQ(flags_.decide.model.flash_attention, on) << word;
  }
  EXPECT_TRUE(parse({"decide"}, {{"ASSAY_FLASH_ATTENTION", "yes"}}).ok());
  EXPECT_TRUE(flags_.decide.model.flash_attention);
  const Result<ParsedCommand> wrong = parse({"serve", "--flash-attention", "m.gguf"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "--flash-attention takes on or off, not 'm.gguf'");
}

TEST_F(CommandsTest, ServeFlagsReachTheDeciderOptions) {
  ASSERT_TRUE(
      parse({"serve", "m.gguf", "--timeout-ms", "1500", "--step-ms", "40", "--stuck-seconds", "9", "--answer-cache",
             "12", "--grace-seconds", "3", "--layout", "question_first", "--snapshots", "snaps"},
            {{"ASSAY_MODEL", "env.gguf"}})
          .ok());
  const Result<DeciderOptions> options = serve_decider_options(flags_.serve);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->model.path, "m.gguf");
  EXPECT_EQ(options->layout, Layout::kQuestionFirst);
  EXPECT_EQ(options->snapshots_dir, "snaps");
  EXPECT_EQ(options->timeout_ms, 1500);
  EXPECT_EQ(options->step_ms, 40);
  EXPECT_EQ(options->stuck_seconds, 9);
  EXPECT_EQ(options->answer_cache_entries, 12u);
  EXPECT_EQ(flags_.serve.grace_seconds, 3);
}

TEST_F(CommandsTest, OnlyAServerHasTheFlagsOfLoad) {
  for (const char* flag : {"--timeout-ms", "--step-ms", "--stuck-seconds", "--answer-cache", "--grace-seconds"}) {
    EXPECT_TRUE(parse({"serve", flag, "5"}).ok()) << flag;
    EXPECT_FALSE(parse({"score", flag, "5"}).ok()) << flag;
    EXPECT_FALSE(parse({"serve", flag, "-1"}).ok()) << flag;
  }
}

TEST_F(CommandsTest, DefaultsAreThoseOfTheLibrary) {
  ASSERT_TRUE(parse({"decide", "--model", "m.gguf"}).ok());
  const Result<DeciderOptions> options = decider_options(flags_.decide.model);
  ASSERT_TRUE(options.ok());
  const DeciderOptions library;
  EXPECT_EQ(options->model.batch_tokens, library.model.batch_tokens);
  EXPECT_EQ(options->model.sequences_max, library.model.sequences_max);
  EXPECT_EQ(options->model.flash_attention, library.model.flash_attention);
  EXPECT_EQ(options->model.cache_tokens, library.model.cache_tokens);
  EXPECT_EQ(options->model.extra_buffers, library.model.extra_buffers);
  EXPECT_EQ(options->model.packing, library.model.packing);
  EXPECT_EQ(options->model.pack_cache_dir, library.model.pack_cache_dir);
  EXPECT_EQ(options->model.mmap, library.model.mmap);
  EXPECT_EQ(options->readout, library.readout);
  EXPECT_EQ(options->readout_check, library.readout_check);
  EXPECT_EQ(options->limits.options_max, library.limits.options_max);
  EXPECT_EQ(options->queue_jobs_max, library.queue_jobs_max);
}

TEST_F(CommandsTest, DefaultsOfServeAreThoseOfTheLibrary) {
  ASSERT_TRUE(parse({"serve"}, {{"ASSAY_MODEL", "env.gguf"}}).ok());
  const Result<DeciderOptions> options = serve_decider_options(flags_.serve);
  ASSERT_TRUE(options.ok());
  const DeciderOptions library;
  EXPECT_EQ(options->model.path, "env.gguf");
  EXPECT_EQ(options->layout, library.layout);
  EXPECT_EQ(options->snapshots_dir, library.snapshots_dir);
  EXPECT_EQ(options->timeout_ms, library.timeout_ms);
  EXPECT_EQ(options->step_ms, library.step_ms);
  EXPECT_EQ(options->stuck_seconds, library.stuck_seconds);
  EXPECT_EQ(options->answer_cache_entries, library.answer_cache_entries);
  EXPECT_LT(flags_.serve.grace_seconds + 3, 30);  // SageMaker's limit
}

TEST_F(CommandsTest, AMissingModelOrTemplateIsNamed) {
  EXPECT_EQ(serve_decider_options({}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(decider_options({}).error().message.find("tools/setup"), std::string::npos);
  ModelFlags flags;
  flags.model = "m.gguf";
  flags.chat_template = "no/such/file";
  EXPECT_EQ(decider_options(flags).error().code, ErrorCode::kNotFound);
}

TEST_F(CommandsTest, LayoutHasAVariableAndTakesItsNamesOnly) {
  ASSERT_TRUE(parse({"score", "in.jsonl"}, {{"ASSAY_LAYOUT", "question_first"}}).ok());
  EXPECT_EQ(flags_.score.layout, "question_first");
  EXPECT_FALSE(parse({"decide", "--layout", "question"}).ok());
}

TEST_F(CommandsTest, VerifyAndWarmTakeAFileAndAModel) {
  ASSERT_TRUE(parse({"verify", "r.jsonl", "-m", "m.gguf", "--json"}).ok());
  EXPECT_EQ(flags_.verify.file, "r.jsonl");
  EXPECT_EQ(flags_.verify.model.model, "m.gguf");
  EXPECT_TRUE(flags_.verify.json);
  ASSERT_TRUE(parse({"warm", "w.jsonl", "-m", "m.gguf", "--snapshots", "d", "--log-level", "info"}).ok());
  EXPECT_EQ(flags_.warm.file, "w.jsonl");
  EXPECT_EQ(flags_.warm.model.snapshots, "d");
  EXPECT_EQ(log_level_name("warm", flags_), "info");
  EXPECT_EQ(log_level_name("verify", flags_), "warn");
}

TEST_F(CommandsTest, ServeLogsMoreThanTheOthers) {
  EXPECT_EQ(log_level_name("serve", flags_), "info");
  EXPECT_EQ(log_level_name("decide", flags_), "warn");
  flags_.decide.model.log_level = "debug";
  EXPECT_EQ(log_level_name("decide", flags_), "debug");
}

}  // namespace
}  // namespace assay::cli
