#include "server/metric_aliases.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

TEST(LlamaMetrics, AreTheEnginesCountsByOtherNames) {
  const EngineStats engine{
      .queued = 3, .running = 2, .cells = 200, .cells_used = 50, .rows_per_second = 12.5, .steps = 7, .rows = 900};
  const std::string text = llama_metrics_text(engine);
  for (const char* line :
       {"llamacpp:requests_deferred 3\n", "llamacpp:requests_processing 2\n", "llamacpp:kv_cache_usage_ratio 0.25\n",
        "llamacpp:prompt_tokens_seconds 12.5\n", "llamacpp:n_decode_total 7\n", "llamacpp:prompt_tokens_total 900\n",
        "# TYPE llamacpp:requests_deferred gauge\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(LlamaMetrics, WithoutAContextNothingIsUsed) {
  EXPECT_NE(llama_metrics_text({}).find("llamacpp:kv_cache_usage_ratio 0\n"), std::string::npos);
}

}  // namespace
}  // namespace assay::server
