#include "cli/report_html.h"

#include <gtest/gtest.h>

#include "cli/report_svg.h"

namespace assay::cli {
namespace {

TEST(ReportHtml, EscapesWhatHtmlReads) {
  EXPECT_EQ(html_text("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(html_text("a\x01\nb\xff"), "a \nb\xEF\xBF\xBD");
}

TEST(ReportHtml, AnEmptyResultIsAPage) {
  const std::string page = report_html({});
  EXPECT_NE(page.find("Wrong rows (0)"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(ReportHtml, LongStatesAreCutBetweenCharacters) {
  EvalResult result;
  EvalRow row;
  row.state = std::string(399, 'x') + "ä" + std::string(10, 'y');
  result.rows = {row};
  EXPECT_NE(report_html(result).find(std::string(399, 'x') + " …<"), std::string::npos);
}

TEST(ReportSvg, DrawsBinsAndQuantiles) {
  const std::vector<Outcome> outcomes = {{{0.8, 0.2}, 0, 0}, {{0.3, 0.7}, 0, 1}};
  const std::string bins = reliability_svg(reliability_bins(outcomes));
  EXPECT_NE(bins.find("1 answers, confidence 0.800, right 1.000"), std::string::npos) << bins;
  const std::string curve = latency_svg({10, 20, 30, 40});
  EXPECT_NE(curve.find("p50 25 ms"), std::string::npos) << curve;
  EXPECT_NE(latency_svg({}).find("</svg>"), std::string::npos);
  EXPECT_NE(latency_svg({0, 0}).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace assay::cli
