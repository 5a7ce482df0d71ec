#include "cli/completion.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "cli/commands.h"
#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

struct Ended {
  int code = -1;
  std::string output;
};

Ended run_shell(const std::string& command) {
  Ended out;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    out.output.append(buffer.data(), size);
  out.code = WEXITSTATUS(pclose(pipe));
  return out;
}

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() : commands_(all_commands(flags_)) {}

  // What bash offers when the words are typed and the last one is to be completed, one a line.
  std::string bash_offers(const std::string& words) {
    dir_.write("complete.bash", bash_completion(commands_));
    dir_.write("ask.bash",
               "source '" + dir_.path("complete.bash") + "'\ncd '" + dir_.path("") + "'\nCOMP_WORDS=(" + words +
                   ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_assay\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
    const Ended ended = run_shell("bash --norc '" + dir_.path("ask.bash") + "' 2>&1");
    EXPECT_EQ(ended.code, 0);
    return ended.output;
  }

  CommandFlags flags_;
  std::vector<CommandSpec> commands_;
  TempDir dir_;
};

TEST_F(CompletionTest, BashOffersCommandsFlagsValuesAndFiles) {
  EXPECT_EQ(bash_offers("assay se"), "serve\n");
  EXPECT_EQ(bash_offers("assay decide --exp"), "--explain\n");
  EXPECT_EQ(bash_offers("assay decide --readout l"), "letters\n");
  EXPECT_EQ(bash_offers("assay serve --special-tokens ''"), "literal\nreject\n");
  EXPECT_EQ(bash_offers("assay completion f"), "fish\n");
  dir_.write("a model.gguf", "x");
  EXPECT_EQ(bash_offers("assay serve -m 'a mo'"), "a model.gguf\n");
  EXPECT_EQ(bash_offers("assay serve 'a mo'"), "a model.gguf\n");
  EXPECT_EQ(bash_offers("assay serve --port 8"), "\n");
  EXPECT_NE(bash_offers("assay ''").find("doctor\n"), std::string::npos);
}

TEST_F(CompletionTest, EveryCommandAndFlagIsInEveryScript) {
  const std::string zsh = zsh_completion(commands_);
  const std::string fish = fish_completion(commands_);
  for (const CommandSpec& command : commands_) {
    EXPECT_NE(zsh.find("'" + command.name + ":"), std::string::npos) << command.name;
    EXPECT_NE(fish.find("-a " + command.name + " "), std::string::npos) << command.name;
    for (const OptionSpec& option : command.options) {
      if (option.positional) continue;
      EXPECT_NE(zsh.find("--" + option.name + "["), std::string::npos) << option.name;
      EXPECT_NE(fish.find("-l " + option.name), std::string::npos) << option.name;
    }
  }
}

TEST_F(CompletionTest, OtherShellsReadTheirScripts) {
  const auto check = [this](const std::string& shell, const std::string& script) {
    if (run_shell("command -v " + shell + " >/dev/null").code != 0) return;
    dir_.write("script", script);
    EXPECT_EQ(run_shell(shell + " -n '" + dir_.path("script") + "' 2>&1").output, "") << shell;
  };
  check("bash", bash_completion(commands_));
  check("zsh", zsh_completion(commands_));
  check("fish", fish_completion(commands_));
}

TEST_F(CompletionTest, UnknownShellsAreNamed) {
  EXPECT_FALSE(completion_script({.shell = ""}, commands_).ok());
  EXPECT_NE(completion_script({.shell = "bahs"}, commands_).error().message.find("did you mean 'bash'?"),
            std::string::npos);
  EXPECT_TRUE(completion_script({.shell = "zsh"}, commands_).ok());
}

}  // namespace
}  // namespace assay::cli
