#include "cli/foreign_words.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

using Words = std::vector<std::string>;

class ForeignWords : public ::testing::Test {
 protected:
  ForeignWords() {
    command_.name = "serve";
    command_.options = {with_short_name(number_option("port", "N", "Port", &port_, 0, 65535), "p"),
                        switch_option("no-mmap", "Read", &no_mmap_),
                        as_positional(text_option("GGUF", "", "Model", &model_))};
    command_.foreign = {
        {.names = {"-c", "--ctx-size"},
         .values = 1,
         .value_name = "N",
         .environment = "LLAMA_ARG_CTX_SIZE",
         .help = "Size"},
        {.names = {"--jinja", "--no-jinja"}, .values = 0, .value_name = "", .environment = "", .help = "Templates"},
        {.names = {"--port"}, .values = 1, .value_name = "N", .environment = "", .help = "Port"},
        {.names = {"--lora-scaled"}, .values = 2, .value_name = "F", .environment = "", .help = "Adapter"}};
  }
  CommandSpec command_;
  int port_ = 1;
  bool no_mmap_ = false;
  std::string model_;
};

TEST_F(ForeignWords, AreTakenOutWithTheirValues) {
  const ToldApart apart =
      tell_apart(command_, {"m.gguf", "-c", "4096", "--no-mmap", "--jinja", "--lora-scaled", "a", "0.5", "-p", "1"});
  EXPECT_EQ(apart.ours, (Words{"m.gguf", "--no-mmap", "-p", "1"}));
  EXPECT_EQ(apart.foreign, (Words{"-c", "4096", "--jinja", "--lora-scaled", "a", "0.5"}));
}

TEST_F(ForeignWords, MayHaveTheirValueBehindAnEqualsSignOrUnderscores) {
  const ToldApart apart = tell_apart(command_, {"--ctx_size=4096", "m.gguf", "--no_jinja"});
  EXPECT_EQ(apart.ours, Words{"m.gguf"});
  EXPECT_EQ(apart.foreign, (Words{"--ctx-size", "4096", "--no_jinja"}));
}

TEST_F(ForeignWords, OursWinsWhereBothHaveAName) {
  const ToldApart apart = tell_apart(command_, {"--port", "8081", "--port=1"});
  EXPECT_EQ(apart.ours, (Words{"--port", "8081", "--port=1"}));
  EXPECT_TRUE(apart.foreign.empty());
}

TEST_F(ForeignWords, AValueOfOursThatLooksLikeAFlagStaysWithIt) {
  const ToldApart apart = tell_apart(command_, {"--port", "-c", "x"});
  EXPECT_EQ(apart.ours, (Words{"--port", "-c", "x"}));
}

TEST_F(ForeignWords, WhatNeitherKnowsStays) {
  const ToldApart apart = tell_apart(command_, {"--nonsense", "-c"});
  EXPECT_EQ(apart.ours, Words{"--nonsense"});
  EXPECT_EQ(apart.foreign, Words{"-c"});  // its value is missing, as whoever reads it will say
}

TEST_F(ForeignWords, AreInTheHelp) {
  const std::string help = foreign_help(command_);
  EXPECT_NE(help.find("-c,--ctx-size N"), std::string::npos) << help;
  EXPECT_NE(help.find("Size (LLAMA_ARG_CTX_SIZE)"), std::string::npos) << help;
}

}  // namespace
}  // namespace assay::cli
