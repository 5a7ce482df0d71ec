#include "cli/commands.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "cli/command_line.h"
#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

class CommandsTest : public testing::Test {
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
                     "-c",
                     "4096",
                     "--batch-tokens",
                     "64",
                     "--sequences-max",
                     "8",
                     "--gpu-layers",
                     "-1",
                     "--flash-attention",
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
  EXPECT_TRUE(options->model.flash_attention);
  EXPECT_FALSE(options->model.extra_buffers);
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

TEST_F(CommandsTest, DefaultsAreThoseOfTheLibrary) {
  ASSERT_TRUE(parse({"decide", "--model", "m.gguf"}).ok());
  const Result<DeciderOptions> options = decider_options(flags_.decide.model);
  ASSERT_TRUE(options.ok());
  const DeciderOptions library;
  EXPECT_EQ(options->model.batch_tokens, library.model.batch_tokens);
  EXPECT_EQ(options->model.sequences_max, library.model.sequences_max);
  EXPECT_EQ(options->model.extra_buffers, library.model.extra_buffers);
  EXPECT_EQ(options->model.mmap, library.model.mmap);
  EXPECT_EQ(options->readout, library.readout);
  EXPECT_EQ(options->readout_check, library.readout_check);
  EXPECT_EQ(options->limits.options_max, library.limits.options_max);
  EXPECT_EQ(options->queue_jobs_max, library.queue_jobs_max);
}

TEST_F(CommandsTest, AMissingModelOrTemplateIsNamed) {
  EXPECT_NE(decider_options({}).error().message.find("tools/setup"), std::string::npos);
  ModelFlags flags;
  flags.model = "m.gguf";
  flags.chat_template = "no/such/file";
  EXPECT_EQ(decider_options(flags).error().code, ErrorCode::kNotFound);
}

TEST_F(CommandsTest, ServeLogsMoreThanTheOthers) {
  EXPECT_EQ(log_level_name("serve", flags_), "info");
  EXPECT_EQ(log_level_name("decide", flags_), "warn");
  flags_.decide.model.log_level = "debug";
  EXPECT_EQ(log_level_name("decide", flags_), "debug");
}

}  // namespace
}  // namespace assay::cli
