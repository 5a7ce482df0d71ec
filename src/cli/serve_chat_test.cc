#include "cli/serve_chat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

using Words = std::vector<std::string>;

bool has_pair(const Words& words, const std::string& name, const std::string& value) {
  const auto found = std::find(words.begin(), words.end(), name);
  return found != words.end() && found + 1 != words.end() && *(found + 1) == value;
}

TEST(WordsForLlama, AreTheForeignOnesAndOursUnderItsNames) {
  ServeFlags flags;
  EXPECT_TRUE(words_for_llama(flags).empty());
  flags.llama_words = {"--jinja"};
  flags.model.threads = 3;
  flags.model.gpu_layers = 7;
  flags.model.no_mmap = true;
  flags.aliases = {"a", "b"};
  const Words words = words_for_llama(flags);
  EXPECT_EQ(words.front(), "--jinja");
  EXPECT_TRUE(has_pair(words, "--threads", "3"));
  EXPECT_TRUE(has_pair(words, "--n-gpu-layers", "7"));
  EXPECT_TRUE(has_pair(words, "--load-mode", "none"));
  EXPECT_TRUE(has_pair(words, "--alias", "a,b"));
}

TEST(WordsForLlama, ATemplateIsAFileOrTheTextItself) {
  TempDir dir;
  ServeFlags flags;
  flags.model.chat_template = dir.write("t.jinja", "{{ messages }}");
  EXPECT_TRUE(has_pair(words_for_llama(flags), "--chat-template-file", flags.model.chat_template));
  flags.model.chat_template = "chatml";
  EXPECT_TRUE(has_pair(words_for_llama(flags), "--chat-template", "chatml"));
}

TEST(WithLlamaSettings, FillsWhatOursLeaveOpen) {
  ServeFlags flags;
  flags.port = 9000;
  server::LlamaSettings settings;
  settings.model_path = "m.gguf";
  settings.hosts = {"0.0.0.0"};
  settings.port = 1234;
  settings.context_tokens = 4096;
  settings.threads = 5;
  settings.read_timeout_seconds = 600;
  settings.api_keys = {"k1", "k2"};
  settings.aliases = {"x"};
  const Result<ServeFlags> merged = with_llama_settings(flags, settings);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->model.model, "m.gguf");
  EXPECT_EQ(merged->host, "0.0.0.0");
  EXPECT_EQ(merged->port, 9000);  // ours was given
  EXPECT_EQ(merged->model.context_tokens, 4096);
  EXPECT_EQ(merged->model.threads, 5);
  EXPECT_EQ(merged->read_timeout_seconds, 600);
  EXPECT_EQ(merged->api_keys, (Words{"k1", "k2"}));
  EXPECT_EQ(merged->aliases, Words{"x"});
}

TEST(WithLlamaSettings, LeavesAccessAloneWhereItIsFixed) {
  ServeFlags flags;
  flags.own_access = true;
  server::LlamaSettings settings;
  settings.hosts = {"10.0.0.1"};
  settings.port = 1234;
  settings.api_keys = {"k"};
  const Result<ServeFlags> merged = with_llama_settings(flags, settings);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->host, ServeFlags{}.host);
  EXPECT_EQ(merged->port, ServeFlags{}.port);
  EXPECT_TRUE(merged->api_keys.empty());
}

TEST(WithLlamaSettings, ListsMayComeAsOneWord) {
  ServeFlags flags;
  flags.api_keys = {"a,b", "c"};
  const Result<ServeFlags> merged = with_llama_settings(flags, {});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->api_keys, (Words{"a", "b", "c"}));
}

TEST(WithLlamaSettings, RefusesWhatThisServerCannotDo) {
  server::LlamaSettings settings;
  settings.path_prefix = "x/";
  EXPECT_EQ(with_llama_settings({}, settings).error().field, "--api-prefix");
  settings.path_prefix = "/x";
  ASSERT_TRUE(with_llama_settings({}, settings).ok());
  EXPECT_EQ(with_llama_settings({}, settings)->path_prefix, "/x");
}

TEST(WithLlamaSettings, AnAliasIsNotEmpty) {
  for (const char* alias : {"", "a,", ",a", "a,,b"}) {
    ServeFlags flags;
    flags.aliases = {"good", alias};
    const Result<ServeFlags> merged = with_llama_settings(flags, {});
    ASSERT_FALSE(merged.ok()) << alias;
    EXPECT_EQ(merged.error().field, "--alias");
  }
}

TEST(IsForManyModels, WhereNothingNamesOne) {
  EXPECT_TRUE(is_for_many_models({}, {}));
  ServeFlags flags;
  flags.chat = false;
  EXPECT_FALSE(is_for_many_models(flags, {}));
  flags = {};
  flags.model.model = "m.gguf";
  EXPECT_FALSE(is_for_many_models(flags, {}));
  flags = {};
  flags.positional_model = "m.gguf";
  EXPECT_FALSE(is_for_many_models(flags, {}));
  server::LlamaSettings settings;
  settings.download = "owner/name";
  EXPECT_FALSE(is_for_many_models({}, settings));
}

TEST(BehindRouter, NeedsNoKeyAndNoTls) {
  ServeFlags flags;
  flags.api_keys = {"k"};
  flags.api_key_file = "keys";
  flags.rate_limit = 3;
  flags.cors_origins = {"*"};
  flags.ssl_key_file = "key.pem";
  flags.ssl_cert_file = "cert.pem";
  flags.round = 2;
  const ServeFlags behind = behind_router(flags);
  EXPECT_TRUE(behind.api_keys.empty() && behind.api_key_file.empty() && behind.cors_origins.empty());
  EXPECT_TRUE(behind.ssl_key_file.empty() && behind.ssl_cert_file.empty());
  EXPECT_EQ(behind.rate_limit, 0u);
  EXPECT_EQ(behind.round, 2);
}

TEST(WithLlamaSettings, TemplateTextServesDecisionsTooAndANameDoesNot) {
  server::LlamaSettings settings;
  settings.chat_template = "{{ messages[0].content }}";
  ServeFlags flags;
  flags.model.model = "m.gguf";
  flags.model.chat_template = settings.chat_template;  // as `--chat-template TEXT`, which names no file
  Result<ServeFlags> merged = with_llama_settings(flags, settings);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(serve_decider_options(*merged)->model.chat_template, settings.chat_template);
  settings.chat_template = flags.model.chat_template = "chatml";
  merged = with_llama_settings(flags, settings);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(serve_decider_options(*merged)->model.chat_template, "");
}

TEST(HostsOf, AreWhatStandsBetweenCommas) {
  EXPECT_EQ(hosts_of("127.0.0.1, ::1,,/run/a.sock "), (Words{"127.0.0.1", "::1", "/run/a.sock"}));
  EXPECT_EQ(hosts_of(" "), Words{});
  server::LlamaSettings settings;
  settings.hosts = {"127.0.0.1", "::1"};
  EXPECT_EQ(hosts_of(with_llama_settings({}, settings)->host), settings.hosts);
}

TEST(WithVertexSettings, FollowsItsVariables) {
  std::map<std::string, std::string> variables;
  const ReadEnvironment environment = [&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  variables["AIP_PREDICT_ROUTE"] = "/v1/predict";
  EXPECT_EQ(with_vertex_settings({}, environment)->predict_path, "");
  variables["AIP_MODE"] = "PREDICTION";
  ServeFlags flags;
  flags.port = 9000;
  const Result<ServeFlags> plain = with_vertex_settings(flags, environment);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->predict_path, "/v1/predict");
  EXPECT_EQ(plain->health_path, "");
  EXPECT_EQ(plain->port, 8080);
  variables = {{"AIP_MODE", "PREDICTION"}, {"AIP_HTTP_PORT", "7080"}, {"AIP_HEALTH_ROUTE", "alive"}};
  const Result<ServeFlags> named = with_vertex_settings(flags, environment);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->predict_path, "/predict");
  EXPECT_EQ(named->health_path, "/alive");
  EXPECT_EQ(named->port, 7080);
  variables["AIP_HTTP_PORT"] = "many";
  EXPECT_EQ(with_vertex_settings(flags, environment).error().field, "AIP_HTTP_PORT");
  variables = {{"AIP_MODE", "PREDICTION"}, {"AIP_PREDICT_ROUTE", "/v1/decide"}};
  EXPECT_EQ(with_vertex_settings(flags, environment).error().field, "AIP_PREDICT_ROUTE");
}

}  // namespace
}  // namespace assay::cli
