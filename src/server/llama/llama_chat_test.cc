// What an upgrade of llama.cpp may change under us: its list of routes and of flags. No model is loaded.
#include "server/llama/llama_chat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "server/llama/llama_flags.h"
#include "server/testing/upstream_routes.h"

namespace assay::server {
namespace {

using Names = std::set<std::string>;

TEST(LlamaChat, HasTheRoutesOfLlamaServer) {
  const auto chat = LlamaChat::parse({});
  ASSERT_TRUE(chat.ok());
  Names ours;
  for (const ChatRoute& route : (*chat)->routes()) ours.insert(route.method + " " + route.path);
  const Names theirs = upstream_routes(false);
  ASSERT_GT(theirs.size(), 40u);
  EXPECT_EQ(ours, theirs);
}

TEST(LlamaFlags, AreThoseOfLlamaServer) {
  const std::vector<LlamaFlag> flags = llama_server_flags();
  const auto with_name = [&flags](const std::string& name) {
    return std::find_if(flags.begin(), flags.end(), [&name](const LlamaFlag& flag) {
      return std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end();
    });
  };
  ASSERT_NE(with_name("--ctx-size"), flags.end());
  EXPECT_EQ(with_name("--ctx-size")->values, 1);
  EXPECT_EQ(with_name("--ctx-size")->environment, "LLAMA_ARG_CTX_SIZE");
  ASSERT_NE(with_name("--no-jinja"), flags.end());
  EXPECT_EQ(with_name("--no-jinja")->values, 0);
  ASSERT_NE(with_name("--lora-scaled"), flags.end());
  // Words for yes and no, as cli/llama_flags.cc takes them.
  for (const char* name : {"--fit", "--flash-attn", "--log-colors", "--reasoning"}) {
    ASSERT_NE(with_name(name), flags.end()) << name;
    EXPECT_EQ(with_name(name)->values, 1) << name;
  }
  for (const char* name : {"--mlock", "--mmap", "--no-mmap", "--direct-io"}) {
    EXPECT_EQ(with_name(name), flags.end()) << name << " is back";
  }
  EXPECT_GT(flags.size(), 150u);
}

TEST(LlamaChat, ReadsSettingsThatBothServersHave) {
  const auto chat = LlamaChat::parse({"--ctx-size", "2048", "--alias", "a,b", "--api-key", "k", "--parallel", "2",
                                      "--timeout", "30", "--host", "0.0.0.0", "--sleep-idle-seconds", "7"});
  ASSERT_TRUE(chat.ok());
  const LlamaSettings& settings = (*chat)->settings();
  EXPECT_EQ(settings.context_tokens, 2048);
  EXPECT_EQ(settings.aliases, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(settings.api_keys, std::vector<std::string>{"k"});
  EXPECT_EQ(settings.read_timeout_seconds, 30);
  EXPECT_EQ(settings.hosts, std::vector<std::string>{"0.0.0.0"});
  EXPECT_EQ(settings.sleep_idle_seconds, 7);
  EXPECT_EQ(settings.port, -1);
  EXPECT_EQ(settings.threads, -1);
}

TEST(LlamaChat, RefusesWordsThatLlamaServerRefuses) {
  EXPECT_FALSE(LlamaChat::parse({"--no-such-flag"}).ok());
  EXPECT_FALSE(LlamaChat::parse({"--ctx-size", "many"}).ok());
}

}  // namespace
}  // namespace assay::server
