#include "cli/progress.h"

#include <sstream>

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(Progress, LogsALineEveryInterval) {
  ManualClock clock;
  std::ostringstream out;
  Progress progress(out, clock,
                    {.what = "score", .rows = 40, .already = 10, .log_interval_ms = 1000, .terminal = false});
  for (int i = 0; i < 10; ++i) {
    clock.advance_ms(200);
    progress.step(i == 3);
  }
  EXPECT_EQ(out.str(),
            "score: 15/40 rows, 37.5 %, 5.00 rows/s, ETA 0:05, 1 failed\n"
            "score: 20/40 rows, 50.0 %, 5.00 rows/s, ETA 0:04, 1 failed\n");
}

TEST(Progress, RedrawsOneLineOnATerminal) {
  ManualClock clock;
  std::ostringstream out;
  Progress progress(out, clock, {.what = "score", .rows = 2, .already = 0, .log_interval_ms = 1, .terminal = true});
  clock.advance_ms(50);
  progress.step(false);
  EXPECT_EQ(out.str(), "");
  clock.advance_ms(50);
  progress.step(false);
  EXPECT_EQ(out.str().front(), '\r');
  EXPECT_NE(out.str().find("2/2 rows, 100.0 %, 20.0 rows/s"), std::string::npos) << out.str();
  progress.finish();
  EXPECT_EQ(out.str().back(), '\n');
}

TEST(Progress, SaysNothingWhenNothingWasDone) {
  ManualClock clock;
  std::ostringstream out;
  Progress(out, clock, {.what = "x", .rows = 3, .already = 3, .log_interval_ms = 1, .terminal = true}).finish();
  EXPECT_EQ(out.str(), "");
}

TEST(Progress, UnknownTotalsHaveNoEnd) {
  ManualClock clock;
  std::ostringstream out;
  Progress progress(out, clock, {.what = "x", .rows = {}, .already = 0, .log_interval_ms = 1, .terminal = false});
  clock.advance_ms(2000);
  progress.step(false);
  EXPECT_EQ(progress.text(), "1 rows, 0.50 rows/s");
}

TEST(Progress, DurationsHaveHours) {
  EXPECT_EQ(duration_text(7.2), "0:07");
  EXPECT_EQ(duration_text(720), "12:00");
  EXPECT_EQ(duration_text(11100), "3:05:00");
}

}  // namespace
}  // namespace assay::cli
