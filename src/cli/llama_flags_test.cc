#include "cli/llama_flags.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(LlamaFlags, SaysWhatAFlagTakes) {
  EXPECT_EQ(llama_flag_kind("metrics"), LlamaFlagKind::kSwitch);
  EXPECT_EQ(llama_flag_kind("ctx-size"), LlamaFlagKind::kValue);
  EXPECT_EQ(llama_flag_kind("flash-attn"), LlamaFlagKind::kOnOff);
  EXPECT_EQ(llama_flag_kind("mlock"), LlamaFlagKind::kRemoved);
  EXPECT_EQ(llama_flag_kind("ctx-sizes"), std::nullopt);
  EXPECT_EQ(llama_flag_kind(""), std::nullopt);
}

TEST(LlamaFlags, NamesAreSorted) {
  for (const LlamaFlagKind kind :
       {LlamaFlagKind::kSwitch, LlamaFlagKind::kValue, LlamaFlagKind::kOnOff, LlamaFlagKind::kRemoved}) {
    const std::vector<std::string_view> names = llama_flag_names(kind);
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
    EXPECT_FALSE(names.empty());
  }
}

TEST(LlamaFlags, AreThoseOfThePinnedLlamaCpp) {
  std::ifstream file(std::string(ASSAY_LLAMA_SOURCE_DIR) + "/common/arg.cpp", std::ios::binary);
  if (!file) GTEST_SKIP() << "no llama.cpp source at " << ASSAY_LLAMA_SOURCE_DIR;
  const std::string source{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const LlamaFlagKind kind : {LlamaFlagKind::kSwitch, LlamaFlagKind::kValue, LlamaFlagKind::kOnOff}) {
    for (const std::string_view name : llama_flag_names(kind)) {
      EXPECT_NE(source.find("\"--" + std::string(name) + "\""), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace assay::cli
