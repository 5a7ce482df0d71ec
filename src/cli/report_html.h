#pragma once
// The evaluation report: one HTML page that needs nothing but itself.

#include <string>
#include <string_view>

#include "cli/eval_result.h"

namespace assay::cli {

// Text for HTML, in elements and in quoted attributes. Invalid UTF-8 becomes U+FFFD.
std::string html_text(std::string_view bytes);

// A page around `body`, with the report's style. `title` is plain text.
std::string report_page(const std::string& title, const std::string& body);
// A number with its name, for a <div class="numbers">. Both are HTML.
std::string report_card(const std::string& value, const std::string& name);

// Numbers, a reliability diagram, a latency curve, tables by file, type and family, and every wrong or refused row
// with the begin of its state. No script, no link to anything outside.
std::string report_html(const EvalResult& result);

}  // namespace assay::cli
