#include "server/llama/prompt_cache_limit.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

TEST(PromptCacheLimit, IsLlamaServersWhereThereIsMemoryForItTwice) {
  EXPECT_EQ(prompt_cache_mib(64 * 1024 * kMib, 8192), 8192);
  EXPECT_EQ(prompt_cache_mib(16 * 1024 * kMib, 8192), 8192);
}

TEST(PromptCacheLimit, IsHalfOfWhatIsLeftWhereThereIsLess) {
  EXPECT_EQ(prompt_cache_mib(3 * 1024 * kMib, 8192), 1536);
  EXPECT_EQ(prompt_cache_mib(32 * kMib, 8192), 16);
}

TEST(PromptCacheLimit, IsNothingWhereNoPromptWouldFit) {
  EXPECT_EQ(prompt_cache_mib(32 * kMib - 1, 8192), 0);
  EXPECT_EQ(prompt_cache_mib(0, 8192), 0);
}

}  // namespace
}  // namespace assay::server
