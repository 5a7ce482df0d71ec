#include "cli/llama_flags.h"

#include <gtest/gtest.h>

#include "cli/testing/some_llama_flags.h"

namespace assay::cli {
namespace {

TEST(LlamaFlagKind, SaysWhatAFlagTakes) {
  const std::vector<ForeignFlag> flags = some_llama_flags();
  EXPECT_EQ(llama_flag_kind("metrics", flags), LlamaFlagKind::kSwitch);
  EXPECT_EQ(llama_flag_kind("ctx-size", flags), LlamaFlagKind::kValue);
  EXPECT_EQ(llama_flag_kind("n-gpu-layers", flags), LlamaFlagKind::kValue);
  EXPECT_EQ(llama_flag_kind("flash-attn", flags), LlamaFlagKind::kOnOff);
  EXPECT_EQ(llama_flag_kind("mlock", flags), LlamaFlagKind::kRemoved);
  EXPECT_EQ(llama_flag_kind("ctx-sizes", flags), std::nullopt);
  EXPECT_EQ(llama_flag_kind("", flags), std::nullopt);
}

TEST(LlamaFlagKind, AFlagThatCameBackIsWhatItIsNow) {
  const std::vector<ForeignFlag> flags = {
      {.names = {"--mlock"}, .values = 0, .value_name = "", .environment = "", .help = ""}};
  EXPECT_EQ(llama_flag_kind("mlock", flags), LlamaFlagKind::kSwitch);
}

}  // namespace
}  // namespace assay::cli
