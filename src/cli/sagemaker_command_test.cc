#include "cli/sagemaker_command.h"

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/testing/fake_decider.h"
#include "cli/testing/some_llama_flags.h"
#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

class SageMakerCommandTest : public ::testing::Test {
 protected:
  // Reads as main does: first the container's variables, then words, ASSAY_* variables and the config file.
  Status read(const std::vector<std::string>& words, const std::map<std::string, std::string>& environment = {}) {
    const ReadEnvironment look = [&environment](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
    std::vector<EnvironmentEntry> entries;
    entries.reserve(environment.size());
    for (const auto& [name, value] : environment) entries.push_back({name, value});
    Status first = read_sagemaker_environment(flags_.sagemaker, words, look, entries, some_llama_flags());
    if (!first.ok()) return first;
    const Result<ParsedCommand> parsed = parse_command_line(all_commands(flags_), words, look);
    return parsed.ok() ? Status() : Status(parsed.error());
  }

  const ServeFlags& serve() const { return flags_.sagemaker.serve; }

  TempDir dir_;
  CommandFlags flags_;
};

TEST_F(SageMakerCommandTest, AContainerListensOnAllAddressesWithinItsTime) {
  ASSERT_TRUE(read({"sagemaker", "serve"}).ok());
  EXPECT_EQ(serve().host, "0.0.0.0");
  EXPECT_EQ(serve().port, 8080);
  EXPECT_LT(serve().timeout_ms, 60'000);
  EXPECT_GT(serve().timeout_ms, 0);
  EXPECT_LT(serve().grace_seconds, 30);
  EXPECT_LE(serve().stuck_seconds, 30);
  EXPECT_TRUE(serve().log_requests);
  EXPECT_EQ(flags_.sagemaker.words, std::vector<std::string>{"serve"});
}

TEST_F(SageMakerCommandTest, LessonsAreAskedForByFlagsAndVariables) {
  ASSERT_TRUE(
      read({"sagemaker", "serve", "--keep-decisions", "states"},
           {{"ASSAY_LESSONS", "/opt/ml/model/lessons"}, {"ASSAY_KEEP_DECISIONS", "texts"}, {"ASSAY_KEEP_DAYS", "9"}})
          .ok());
  const LessonOptions options = *serve_lesson_options(serve()).value();
  EXPECT_EQ(options.folder, "/opt/ml/model/lessons");
  EXPECT_EQ(options.keep, LessonOptions::Keep::kStates);
  EXPECT_EQ(serve().keep_days, 9u);
}

TEST_F(SageMakerCommandTest, FlagsBeatOurVariablesBeatTheContainers) {
  const std::map<std::string, std::string> all = {
      {"SM_LLAMA_CPP_CTX_SIZE", "1000"}, {"SM_LLAMA_CPP_THREADS", "1"}, {"SM_LLAMA_CPP_PORT", "9090"},
      {"ASSAY_CONTEXT_TOKENS", "2000"},  {"ASSAY_THREADS", "2"},        {"SM_LLAMA_CPP_ALIAS", "a,b"}};
  ASSERT_TRUE(read({"sagemaker", "serve", "--threads", "3"}, all).ok());
  EXPECT_EQ(serve().port, 9090);
  EXPECT_EQ(serve().model.context_tokens, 2000);
  EXPECT_EQ(serve().model.threads, 3);
  EXPECT_EQ(serve().aliases, (std::vector<std::string>{"a", "b"}));
}

TEST_F(SageMakerCommandTest, ABadValueNamesItsVariable) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"SM_LLAMA_CPP_CTX_SIZE", "many"},
                                                                      {"SM_LLAMA_CPP_THREADS", "1.5"},
                                                                      {"SM_LLAMA_CPP_FLASH_ATTN", "maybe"},
                                                                      {"SEMIF_THREADS", "0"},
                                                                      {"SAGEMAKER_BIND_TO_PORT", "x"}}) {
    const Status status = read({"sagemaker"}, {{name, value}});
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_NE(status.error().message.find(name), std::string::npos) << status.error().message;
    EXPECT_EQ(exit_code(status.error().code), 2);
  }
}

TEST_F(SageMakerCommandTest, UnknownVariablesAreRefusedWhenAsked) {
  const std::map<std::string, std::string> odd = {{"SM_LLAMA_CPP_COLOUR", "red"}};
  ASSERT_TRUE(read({"sagemaker"}, odd).ok());
  EXPECT_EQ(flags_.sagemaker.settings.warnings.size(), 1u);
  EXPECT_FALSE(read({"sagemaker", "--unknown-variables", "refuse"}, odd).ok());
  EXPECT_FALSE(read({"sagemaker"}, {{"SM_LLAMA_CPP_COLOUR", "red"}, {"ASSAY_UNKNOWN_VARIABLES", "refuse"}}).ok());
}

TEST_F(SageMakerCommandTest, FindsTheModelInItsFolder) {
  dir_.write("b.gguf", "x");
  dir_.write("a.gguf", "x");
  ASSERT_TRUE(read({"sagemaker", "serve", "other", "words"}, {{"SM_LLAMA_CPP_MODEL_DIR", dir_.path(".")}}).ok());
  const Result<ServeFlags> found = serve_flags_of(flags_.sagemaker, false);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->model.model, dir_.path(".") + "/a.gguf");
}

TEST_F(SageMakerCommandTest, ANamedModelHasToBeThere) {
  ASSERT_TRUE(read({"sagemaker"}, {{"SM_LLAMA_CPP_MODEL", dir_.path("absent.gguf")}}).ok());
  const Result<ServeFlags> lost = serve_flags_of(flags_.sagemaker, false);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, ErrorCode::kNotFound);
  EXPECT_NE(lost.error().message.find("SM_LLAMA_CPP_MODEL"), std::string::npos);
  dir_.write("m.gguf", "x");
  ASSERT_TRUE(read({"sagemaker"}, {{"SM_LLAMA_CPP_MODEL", dir_.path("m.gguf")}}).ok());
  EXPECT_TRUE(serve_flags_of(flags_.sagemaker, false).ok());
}

TEST_F(SageMakerCommandTest, WhatLiesInTheFolderIsNotFetched) {
  const std::map<std::string, std::string> asks = {{"SM_LLAMA_CPP_MODEL_DIR", dir_.path(".")},
                                                   {"SM_LLAMA_CPP_HF_REPO", "a/b"}};
  ASSERT_TRUE(read({"sagemaker"}, asks).ok());
  const Result<ServeFlags> fetched = serve_flags_of(flags_.sagemaker, false);
  ASSERT_TRUE(fetched.ok()) << fetched.error().message;
  EXPECT_EQ(fetched->model.model, "");
  EXPECT_EQ(fetched->llama_words, (std::vector<std::string>{"--hf-repo", "a/b"}));
  dir_.write("a.gguf", "x");
  const Result<ServeFlags> found = serve_flags_of(flags_.sagemaker, false);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->model.model, dir_.path(".") + "/a.gguf");
  EXPECT_TRUE(found->llama_words.empty());
}

TEST_F(SageMakerCommandTest, AMissingShardIsNotFetched) {
  dir_.write("m-00001-of-00002.gguf", "x");
  ASSERT_TRUE(read({"sagemaker"}, {{"SM_LLAMA_CPP_MODEL_DIR", dir_.path(".")}, {"SM_LLAMA_CPP_HF_REPO", "a/b"}}).ok());
  EXPECT_EQ(serve_flags_of(flags_.sagemaker, false).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(SageMakerCommandTest, AnEmptyFolderAndSeveralModelsForSemif) {
  ASSERT_TRUE(read({"sagemaker"}, {{"SEMIF_MODEL_DIR", dir_.path(".")}}).ok());
  EXPECT_EQ(serve_flags_of(flags_.sagemaker, false).error().code, ErrorCode::kNotFound);
  dir_.write("b.gguf", "x");
  dir_.write("a.gguf", "x");
  const Result<ServeFlags> several = serve_flags_of(flags_.sagemaker, false);
  ASSERT_FALSE(several.ok());
  EXPECT_NE(several.error().message.find(dir_.path(".")), std::string::npos);
}

TEST_F(SageMakerCommandTest, LayersOnAGpuNeedOne) {
  dir_.write("a.gguf", "x");
  const std::map<std::string, std::string> wants = {{"SM_LLAMA_CPP_MODEL_DIR", dir_.path(".")},
                                                    {"SM_LLAMA_CPP_N_GPU_LAYERS", "999"}};
  ASSERT_TRUE(read({"sagemaker"}, wants).ok());
  EXPECT_TRUE(serve_flags_of(flags_.sagemaker, true).ok());
  const Result<ServeFlags> none = serve_flags_of(flags_.sagemaker, false);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("SM_LLAMA_CPP_N_GPU_LAYERS"), std::string::npos);
  ASSERT_TRUE(read({"sagemaker", "--gpu-fallback"}, wants).ok());
  EXPECT_TRUE(serve_flags_of(flags_.sagemaker, false).ok());
}

TEST_F(SageMakerCommandTest, WhatHasNoFlagOfOursIsKept) {
  ASSERT_TRUE(read({"sagemaker"}, {{"SM_LLAMA_CPP_PARALLEL", "4"}}).ok());
  EXPECT_EQ(serve().llama_words, (std::vector<std::string>{"--parallel", "4"}));
}

TEST(OpenedWarm, AModelThatCannotDecideIsNoServer) {
  FakeDecider* opened = nullptr;
  bool fails = false;
  const OpenDecider open = opened_warm([&](const DeciderOptions&) -> Result<std::unique_ptr<Decider>> {
    auto decider = std::make_unique<FakeDecider>();
    opened = decider.get();
    if (fails)
      decider->check = [](const DecisionRequest&) { return Status(Error{ErrorCode::kNonfiniteLogits, "NaN", ""}); };
    return std::unique_ptr<Decider>(std::move(decider));
  });
  const Result<std::unique_ptr<Decider>> good = open({});
  ASSERT_TRUE(good.ok());
  ASSERT_EQ(opened->seen.size(), 1u);
  EXPECT_GT(opened->seen[0].timeout_ms, 60'000) << "not the deadline of others' requests";
  fails = true;
  const Result<std::unique_ptr<Decider>> bad = open({});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::kUnsupportedModel);
}

// The value of a variable as the processes of the models get it.
std::string given(const ServeFlags& serve, const std::string& name) {
  std::string value = "none";
  for (const auto& [one, text] : serve.given) {
    if (one == name) value = text;
  }
  return value;
}

TEST_F(SageMakerCommandTest, OfManyModelsNoneIsLookedForAndEachGetsTheSettings) {
  const std::map<std::string, std::string> all = {{"SAGEMAKER_MULTI_MODEL", "true"},
                                                  {"SM_LLAMA_CPP_MODEL_DIR", dir_.path("nowhere")},
                                                  {"SM_LLAMA_CPP_CTX_SIZE", "1000"},
                                                  {"SM_LLAMA_CPP_UBATCH_SIZE", "256"},
                                                  {"ASSAY_STEP_MS", "40"}};
  ASSERT_TRUE(read({"sagemaker", "serve", "--context-tokens", "2000"}, all).ok());
  flags_.sagemaker.serve.given = {{"ASSAY_CONTEXT_TOKENS", "2000"}, {"ASSAY_STEP_MS", "40"}};  // as main does
  const Result<ServeFlags> serve = serve_flags_of(flags_.sagemaker, false);
  ASSERT_TRUE(serve.ok()) << serve.error().message;
  EXPECT_TRUE(serve->multi_model);
  EXPECT_EQ(serve->model.model, "");
  EXPECT_EQ(given(*serve, "ASSAY_TIMEOUT_MS"), std::to_string(serve->timeout_ms));
  EXPECT_EQ(given(*serve, "ASSAY_BATCH_TOKENS"), "256");
  EXPECT_EQ(given(*serve, "ASSAY_CONTEXT_TOKENS"), "2000");
  EXPECT_EQ(given(*serve, "ASSAY_STEP_MS"), "40");
  EXPECT_EQ(given(*serve, "ASSAY_LOG_REQUESTS"), "false");
  EXPECT_EQ(given(*serve, "ASSAY_API_KEY"), "none");
}

TEST_F(SageMakerCommandTest, AWrongWordForMultiModelIsAnError) {
  const Status status = read({"sagemaker", "serve"}, {{"SAGEMAKER_MULTI_MODEL", "many"}});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("SAGEMAKER_MULTI_MODEL"), std::string::npos);
  EXPECT_TRUE(read({"sagemaker", "serve"}, {{"SAGEMAKER_MULTI_MODEL", "false"}}).ok());
}

}  // namespace
}  // namespace assay::cli
