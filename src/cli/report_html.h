#pragma once
// The evaluation report: one HTML page that needs nothing but itself.

#include <string>
#include <string_view>

#include "cli/eval_result.h"

namespace assay::cli {

// Text for HTML, in elements and in quoted attributes. Invalid UTF-8 becomes U+FFFD.
std::string html_text(std::string_view bytes);

// Numbers, a reliability diagram, a latency curve, tables by file, type and family, and every wrong or refused row
// with the begin of its state. No script, no link to anything outside.
std::string report_html(const EvalResult& result);

}  // namespace assay::cli
