#pragma once
// The engine's counts by the names that llama-server gives them, for dashboards and autoscalers made for it. Where
// llama-server's own routes are served too, its own counts have these names, and these are not shown.

#include <string>

#include "assay/engine_stats.h"

namespace assay::server {

// Prometheus text. The time per token counts decodes as prompt processing: decisions predict nothing.
std::string llama_metrics_text(const EngineStats& engine);

}  // namespace assay::server
