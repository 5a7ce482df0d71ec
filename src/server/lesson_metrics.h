#pragma once
// What a lesson desk counts, for Prometheus (docs/metrics.md).

#include <string>

#include "assay/lesson_desk.h"

namespace assay::server {

// In the text format 0.0.4. Numbers that are not finite are left out.
std::string lesson_metrics_text(const DeskStats& stats);

}  // namespace assay::server
