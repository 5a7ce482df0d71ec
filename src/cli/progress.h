#pragma once
// How far a long command is: a bar that is redrawn on a terminal, a log line every so often otherwise.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "base/clock.h"

namespace assay::cli {

// Not thread-safe. Stream and clock must outlive it.
class Progress {
 public:
  struct Settings {
    std::string what;                 // "score"
    std::optional<std::size_t> rows;  // all rows, when known
    std::size_t already = 0;          // rows that were done before; they count for the bar, not for the rate
    double log_interval_ms = 10'000;  // without a terminal; on one it is redrawn at most every 100 ms
    bool terminal = false;
  };
  Progress(std::ostream& out, const Clock& clock, Settings settings);

  // One row more is done.
  void step(bool failed);
  // Draws the last state, or ends the bar's line. A log line is written only if something was done.
  void finish();

  // "12/48 rows, 25.0 %, 3.4 rows/s, ETA 0:11, 1 failed"
  std::string text() const;

 private:
  void draw();

  std::ostream& out_;
  const Clock& clock_;
  const Settings settings_;
  const std::int64_t begin_ns_;
  std::int64_t drawn_ns_;
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
};

// "0:07", "12:00", "3:05:00"
std::string duration_text(double seconds);

}  // namespace assay::cli
