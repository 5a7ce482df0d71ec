#include "cli/sagemaker_env.h"

#include <gtest/gtest.h>

#include "cli/serve_flags.h"
#include "cli/testing/some_llama_flags.h"

namespace assay::cli {
namespace {

using Words = std::vector<std::string>;

Result<SageMakerSettings> translated(const std::vector<EnvironmentEntry>& entries) {
  return translate_environment(entries, UnknownVariables::kWarn, some_llama_flags());
}

Words llama_arguments(const std::vector<EnvironmentEntry>& entries) { return translated(entries)->llama_arguments; }

// The values that a flag of ours ends with; none where nothing sets it.
Words values(const std::vector<EnvironmentEntry>& entries, const std::string& flag) {
  Words out;
  const Result<SageMakerSettings> settings = translated(entries);
  if (!settings.ok()) return {"error: " + settings.error().message};
  for (const ServeSetting& setting : settings->settings) {
    if (setting.flag == flag) out = setting.values;
  }
  return out;
}

std::size_t warnings(const std::vector<EnvironmentEntry>& entries) { return translated(entries)->warnings.size(); }

std::string failure(const std::vector<EnvironmentEntry>& entries, UnknownVariables unknown = UnknownVariables::kWarn) {
  const Result<SageMakerSettings> settings = translate_environment(entries, unknown, some_llama_flags());
  return settings.ok() ? "" : settings.error().message;
}

TEST(SageMakerEnv, NothingAsksForNothing) {
  const Result<SageMakerSettings> settings = translated({{"PATH", "/bin"}, {"OPT_OUT_TRACKING", "true"}});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->model_folder, "/opt/ml/model");
  EXPECT_EQ(settings->model_rule, ModelRule::kFirst);
  EXPECT_TRUE(settings->settings.empty() && settings->llama_arguments.empty() && settings->warnings.empty());
}

TEST(SageMakerEnv, ABareFlagIsTrueInAnyCaseOrEmpty) {
  for (const char* value : {"true", "TRUE", "True", "", "1", "on"}) {
    EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_NO_MMPROJ", value}}), Words{"--no-mmproj"}) << value;
  }
  for (const char* value : {"false", "False", "FALSE", "0"}) {
    EXPECT_TRUE(llama_arguments({{"SM_LLAMA_CPP_NO_MMPROJ", value}}).empty()) << value;
  }
  EXPECT_NE(failure({{"SM_LLAMA_CPP_NO_MMPROJ", "maybe"}}).find("SM_LLAMA_CPP_NO_MMPROJ"), std::string::npos);
}

TEST(SageMakerEnv, TwoValuesStandBesideEachOther) {
  for (const char* value : {"3 9", "3,9", " 3,  9 "}) {
    EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_CONTROL_VECTOR_LAYER_RANGE", value}}),
              (Words{"--control-vector-layer-range", "3", "9"}));
  }
  for (const char* value : {"3", "true", "", "1 2 3"}) {
    EXPECT_NE(failure({{"SM_LLAMA_CPP_CONTROL_VECTOR_LAYER_RANGE", value}}).find("takes two values"), std::string::npos)
        << value;
  }
  EXPECT_TRUE(llama_arguments({{"SM_LLAMA_CPP_CONTROL_VECTOR_LAYER_RANGE", "false"}}).empty());
}

TEST(SageMakerEnv, AValueStaysWhole) {
  EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_OVERRIDE_KV", "a b=int:3"}}), (Words{"--override-kv", "a b=int:3"}));
  EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_GRAMMAR", "YWJj=="}}), (Words{"--grammar", "YWJj=="}));
  const std::string lines = "first\nSM_LLAMA_CPP_HOST=127.0.0.1\nSM_LLAMA_CPP_PARALLEL=9";
  const Result<SageMakerSettings> settings = translated({{"SM_LLAMA_CPP_CHAT_TEMPLATE", lines}});
  EXPECT_EQ(settings->llama_arguments, (Words{"--chat-template", lines}));
  EXPECT_TRUE(settings->warnings.empty());
}

TEST(SageMakerEnv, NoFlagSwallowsWhatFollowsIt) {
  EXPECT_EQ(values({{"SM_LLAMA_CPP_FLASH_ATTN", "true"}}, "flash-attention"), Words{"on"});
  EXPECT_EQ(values({{"SM_LLAMA_CPP_FLASH_ATTN", "False"}}, "flash-attention"), Words{"off"});
  EXPECT_TRUE(values({{"SM_LLAMA_CPP_FLASH_ATTN", "auto"}}, "flash-attention").empty());
  EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_FIT", "TRUE"}}), (Words{"--fit", "on"}));
  const Result<SageMakerSettings> settings =
      translated({{"SM_LLAMA_CPP_PARALLEL", "true"}, {"SM_LLAMA_CPP_SEED", ""}, {"SM_LLAMA_CPP_TOP_K", "false"}});
  EXPECT_TRUE(settings->llama_arguments.empty());
  EXPECT_EQ(settings->warnings.size(), 2u);
}

TEST(SageMakerEnv, FlagsThatWeHaveTooAreOurs) {
  EXPECT_EQ(values({{"SM_LLAMA_CPP_CTX_SIZE", "4096"}}, "context-tokens"), Words{"4096"});
  EXPECT_EQ(values({{"SM_LLAMA_CPP_THREADS", "-1"}}, "threads"), Words{"0"});
  EXPECT_EQ(values({{"SM_LLAMA_CPP_THREADS", "3"}}, "threads"), Words{"3"});
  EXPECT_EQ(values({{"SM_LLAMA_CPP_ALIAS", "a,b"}}, "alias"), (Words{"a", "b"}));
  EXPECT_EQ(values({{"SM_LLAMA_CPP_NO_REPACK", "true"}}, "no-extra-buffers"), Words{"true"});
  EXPECT_EQ(values({{"SM_LLAMA_CPP_LOAD_MODE", "none"}}, "no-mmap"), Words{"true"});
  EXPECT_EQ(values({{"SM_LLAMA_CPP_MMAP", "false"}}, "no-mmap"), Words{"true"});
  EXPECT_EQ(values({{"SM_LLAMA_CPP_NO_MMAP", ""}}, "no-mmap"), Words{"true"});
  EXPECT_EQ(values({{"SM_LLAMACPP_CTX_SIZE", "1"}, {"SM_LLAMA_CPP_CTX_SIZE", "2"}}, "context-tokens"), Words{"2"});
}

TEST(SageMakerEnv, ChatIsToldToo) {
  // Its context is another one than decisions', and no bound of one request's is its bound.
  EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_CTX_SIZE", "65536"}}), (Words{"--ctx-size", "65536"}));
  EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_UBATCH_SIZE", "256"}}), (Words{"--ubatch-size", "256"}));
  EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_FLASH_ATTN", "False"}}), (Words{"--flash-attn", "off"}));
  EXPECT_TRUE(llama_arguments({{"SM_LLAMA_CPP_FLASH_ATTN", "auto"}}).empty());
}

TEST(SageMakerEnv, ItsOwnCountsAreToldToo) {
  EXPECT_EQ(llama_arguments({{"SM_LLAMA_CPP_METRICS", "true"}}), Words{"--metrics"});
}

TEST(SageMakerEnv, AModelCanBeFetched) {
  const Result<SageMakerSettings> settings = translated({{"SM_LLAMA_CPP_HF_REPO", "a/b"},
                                                         {"SM_LLAMA_CPP_HF_FILE", "m.gguf"},
                                                         {"SM_LLAMA_CPP_HF_TOKEN", "s3cr3t"},
                                                         {"SM_LLAMA_CPP_SEED", "1"}});
  EXPECT_EQ(settings->download_arguments, (Words{"--hf-file", "m.gguf", "--hf-repo", "a/b", "--hf-token", "s3cr3t"}));
  EXPECT_EQ(settings->model_asked_by, "SM_LLAMA_CPP_HF_REPO");
  EXPECT_EQ(settings->llama_arguments, (Words{"--seed", "1"}));
  EXPECT_TRUE(settings->warnings.empty());
  EXPECT_EQ(translated({{"SM_LLAMACPP_MODEL_URL", "http://x/m.gguf"}})->model_asked_by, "SM_LLAMACPP_MODEL_URL");
  EXPECT_EQ(translated({{"LLAMA_ARG_HF_REPO", "a/b"}})->model_asked_by, "LLAMA_ARG_HF_REPO");
  EXPECT_EQ(translated({{"SM_LLAMA_CPP_HF_TOKEN", "s3cr3t"}})->model_asked_by, "");
}

TEST(SageMakerEnv, EverySettingIsAFlagOfServe) {
  const Result<SageMakerSettings> settings = translated({{"SM_LLAMA_CPP_CTX_SIZE", "1024"},
                                                         {"SM_LLAMA_CPP_THREADS", "2"},
                                                         {"SM_LLAMA_CPP_ALIAS", "a"},
                                                         {"SM_LLAMA_CPP_MODEL", "/m.gguf"},
                                                         {"SM_LLAMA_CPP_VERBOSE", "true"},
                                                         {"SM_LLAMA_CPP_UBATCH_SIZE", "256"},
                                                         {"SM_LLAMA_CPP_N_GPU_LAYERS", "99"},
                                                         {"SM_LLAMA_CPP_FLASH_ATTN", ""},
                                                         {"SM_LLAMA_CPP_NO_MMAP", "true"},
                                                         {"SM_LLAMA_CPP_NO_REPACK", "true"},
                                                         {"SM_LLAMA_CPP_PORT", "9090"},
                                                         {"SM_LLAMA_CPP_THREADS_HTTP", "8"},
                                                         {"SM_LLAMA_CPP_CORS_ORIGINS", "*"},
                                                         {"SEMIF_MAX_BODY_BYTES", "4096"},
                                                         {"SM_LLAMA_CPP_SSL_KEY_FILE", "k"},

                                                         {"SEMIF_THREADS", "4"},
                                                         {"SAGEMAKER_MAX_PAYLOAD_IN_MB", "9"},
                                                         {"SM_LLAMA_CPP_CHAT_TEMPLATE_FILE", "t"},
                                                         {"SAGEMAKER_ENABLE_STATEFUL_SESSIONS", "true"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  ServeFlags flags;
  const CommandSpec serve = serve_command(flags);
  EXPECT_GE(settings->settings.size(), 18u);
  for (const ServeSetting& setting : settings->settings) {
    bool is_known = false;
    for (const OptionSpec& option : serve.options) {
      if (option.name != setting.flag) continue;
      is_known = true;
      const Status applied = option.set(setting.values);
      EXPECT_TRUE(applied.ok()) << setting.source << ": " << (applied.ok() ? "" : applied.error().message);
    }
    EXPECT_TRUE(is_known) << setting.flag;
  }
}

TEST(SageMakerEnv, WhatMakesTheServerUnreachableIsLeftOut) {
  const Result<SageMakerSettings> settings = translated({{"SM_LLAMA_CPP_HOST", "127.0.0.1"},
                                                         {"SM_LLAMA_CPP_API_KEY", "s3cr3t"},
                                                         {"LLAMA_API_KEY", "s3cr3t"},
                                                         {"SM_LLAMA_CPP_SSL_KEY_FILE", "k"},
                                                         {"SM_LLAMA_CPP_API_PREFIX", "/x"},
                                                         {"SM_LLAMA_CPP_HELP", "true"}});
  EXPECT_TRUE(settings->settings.empty() && settings->llama_arguments.empty());
  EXPECT_EQ(settings->warnings.size(), 6u);
  for (const std::string& warning : settings->warnings) EXPECT_EQ(warning.find("s3cr3t"), std::string::npos) << warning;
}

TEST(SageMakerEnv, ThePortIsSageMakersFirst) {
  EXPECT_TRUE(values({}, "port").empty());
  EXPECT_EQ(values({{"SEMIF_PORT", "1"}}, "port"), Words{"1"});
  EXPECT_EQ(values({{"SEMIF_PORT", "1"}, {"LLAMACPP_SAGEMAKER_PORT", "2"}}, "port"), Words{"2"});
  EXPECT_EQ(values({{"LLAMACPP_SAGEMAKER_PORT", "2"}, {"SM_LLAMA_CPP_PORT", "3"}}, "port"), Words{"3"});
  EXPECT_EQ(values({{"SM_LLAMA_CPP_PORT", "3"}, {"SAGEMAKER_BIND_TO_PORT", "4"}}, "port"), Words{"4"});
  EXPECT_TRUE(values({{"SM_LLAMA_CPP_PORT", ""}}, "port").empty());
  for (const char* bad : {"0", "65536", "x", "80 ", "-1"}) {
    EXPECT_NE(failure({{"SM_LLAMA_CPP_PORT", bad}}).find("SM_LLAMA_CPP_PORT"), std::string::npos) << bad;
  }
}

TEST(SageMakerEnv, NamesTheModelOrItsFolder) {
  EXPECT_EQ(translated({{"SM_LLAMA_CPP_MODEL_DIR", "/m"}})->model_folder, "/m");
  EXPECT_EQ(translated({{"SEMIF_MODEL_DIR", "/s"}})->model_folder, "/s");
  EXPECT_EQ(values({{"SM_LLAMA_CPP_MODEL", "/m.gguf"}}, "model"), Words{"/m.gguf"});
  EXPECT_EQ(values({{"SEMIF_GGUF_PATH", "/s.gguf"}}, "model"), Words{"/s.gguf"});
  EXPECT_TRUE(values({{"SM_LLAMA_CPP_MODEL", ""}}, "model").empty());
  EXPECT_EQ(translated({{"SEMIF_THREADS", "2"}})->model_rule, ModelRule::kOnlyOne);
  EXPECT_EQ(translated({{"SEMIF_THREADS", "2"}, {"SM_LLAMA_CPP_SEED", "1"}})->model_rule, ModelRule::kFirst);
}

TEST(SageMakerEnv, SemifNumbersAreCheckedAsItsImageDoes) {
  for (const char* name : {"SEMIF_PORT", "SEMIF_THREADS", "SEMIF_MAX_TOKENS", "SEMIF_MAX_REQUEST_TOKENS",
                           "SEMIF_MAX_SHARED_DECISIONS", "SEMIF_MAX_BODY_BYTES", "SEMIF_MAX_IN_FLIGHT"}) {
    for (const char* bad : {"0", "two", "1.5", "-3"}) {
      EXPECT_NE(failure({{name, bad}}).find(name), std::string::npos) << name << "=" << bad;
    }
  }
  EXPECT_NE(failure({{"SEMIF_N_GPU_LAYERS", "-2"}}).find("SEMIF_N_GPU_LAYERS"), std::string::npos);
  EXPECT_EQ(values({{"SEMIF_MAX_TOKENS", "4096"}}, "context-tokens"), Words{"4096"});
  EXPECT_EQ(values({{"SEMIF_MAX_TOKENS", "4096"}}, "special-tokens"), Words{"reject"});
  EXPECT_EQ(warnings({{"SEMIF_TOKENIZER_REVISION", "abc"}, {"SEMIF_MAX_IN_FLIGHT", "1"}}), 2u);
}

TEST(SageMakerEnv, LayersOnAGpuAreAskedFor) {
  EXPECT_EQ(translated({{"SM_LLAMA_CPP_N_GPU_LAYERS", "999"}})->gpu_asked_by, "SM_LLAMA_CPP_N_GPU_LAYERS");
  EXPECT_EQ(translated({{"SEMIF_N_GPU_LAYERS", "-1"}})->gpu_asked_by, "SEMIF_N_GPU_LAYERS");
  EXPECT_EQ(values({{"SM_LLAMA_CPP_GPU_LAYERS", "all"}}, "gpu-layers"), Words{"-1"});
  for (const char* none : {"0", "auto"}) {
    EXPECT_TRUE(translated({{"SM_LLAMA_CPP_N_GPU_LAYERS", none}})->gpu_asked_by.empty()) << none;
  }
}

TEST(SageMakerEnv, SessionsAndPayload) {
  EXPECT_EQ(values({{"SAGEMAKER_ENABLE_STATEFUL_SESSIONS", "true"}}, "session-seconds"), Words{"1200"});
  EXPECT_EQ(values({{"SAGEMAKER_ENABLE_STATEFUL_SESSIONS", "TRUE"}, {"SAGEMAKER_SESSIONS_EXPIRATION", "60"}},
                   "session-seconds"),
            Words{"60"});
  EXPECT_TRUE(values({{"SAGEMAKER_ENABLE_STATEFUL_SESSIONS", "false"}}, "session-seconds").empty());
  EXPECT_EQ(values({{"SAGEMAKER_MAX_PAYLOAD_IN_MB", "6"}}, "body-bytes-max"), Words{"6291456"});
  EXPECT_EQ(values({{"SAGEMAKER_MAX_PAYLOAD_IN_MB", "0"}}, "body-bytes-max"), Words{"104857600"});
  EXPECT_NE(failure({{"SAGEMAKER_MAX_PAYLOAD_IN_MB", "101"}}), "");
  EXPECT_NE(failure({{"SAGEMAKER_ENABLE_STATEFUL_SESSIONS", "perhaps"}}), "");
}

TEST(SageMakerEnv, AnUnknownVariableIsAWarningOrRefused) {
  EXPECT_EQ(warnings({{"SM_LLAMA_CPP_CTX_SIZES", "1"}}), 1u);
  EXPECT_EQ(warnings({{"SEMIF_COLOUR", "1"}}), 1u);
  for (const char* name : {"SM_LLAMA_CPP_CTX_SIZES", "SM_LLAMACPP_X", "SEMIF_COLOUR"}) {
    EXPECT_NE(failure({{name, "1"}}, UnknownVariables::kRefuse).find(name), std::string::npos);
  }
  EXPECT_EQ(failure({{"SM_LLAMA_CPP_PARALLEL", "1"}, {"OTHER", "1"}}, UnknownVariables::kRefuse), "");
}

TEST(SageMakerEnv, TheOrderOfTheEnvironmentChangesNothing) {
  const Words forward = llama_arguments({{"SM_LLAMA_CPP_SEED", "1"}, {"SM_LLAMA_CPP_PARALLEL", "2"}});
  EXPECT_EQ(forward, llama_arguments({{"SM_LLAMA_CPP_PARALLEL", "2"}, {"SM_LLAMA_CPP_SEED", "1"}}));
  EXPECT_EQ(forward, (Words{"--parallel", "2", "--seed", "1"}));
}

}  // namespace
}  // namespace assay::cli
