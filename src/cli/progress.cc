#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr double kRedrawMs = 100;
constexpr std::size_t kBarCells = 24;

std::string two_digits(std::int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); }

}  // namespace

std::string duration_text(double seconds) {
  const std::int64_t whole = std::llround(std::clamp(seconds, 0.0, 1e9));
  const std::string tail = ":" + two_digits(whole % 60);
  if (whole < 3600) return std::to_string(whole / 60) + tail;
  return std::to_string(whole / 3600) + ":" + two_digits(whole / 60 % 60) + tail;
}

Progress::Progress(std::ostream& out, const Clock& clock, Settings settings)
    : out_(out), clock_(clock), settings_(std::move(settings)), begin_ns_(clock.now_ns()), drawn_ns_(begin_ns_) {}

void Progress::step(bool failed) {
  ++done_;
  if (failed) ++failed_;
  const double interval_ms = settings_.terminal ? kRedrawMs : settings_.log_interval_ms;
  if (clock_.ms_since(drawn_ns_) < interval_ms) return;
  drawn_ns_ = clock_.now_ns();
  draw();
}

std::string Progress::text() const {
  const std::size_t done = settings_.already + done_;
  std::string out = std::to_string(done);
  if (settings_.rows) out += "/" + std::to_string(*settings_.rows);
  out += " rows";
  if (settings_.rows && *settings_.rows > 0) {
    out += ", " + percent(static_cast<double>(done) / static_cast<double>(*settings_.rows));
  }
  const double seconds = clock_.ms_since(begin_ns_) / 1000;
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  if (rate > 0) {
    out += ", " + fixed(rate, rate < 10 ? 2 : 1) + " rows/s";
    const bool open_end = !settings_.rows || *settings_.rows <= done;
    if (!open_end) out += ", ETA " + duration_text(static_cast<double>(*settings_.rows - done) / rate);
  }
  if (failed_ > 0) out += ", " + std::to_string(failed_) + " failed";
  return out;
}

void Progress::draw() {
  if (!settings_.terminal) {
    out_ << settings_.what << ": " << text() << "\n" << std::flush;
    return;
  }
  std::string bar;
  if (settings_.rows && *settings_.rows > 0) {
    const double share = static_cast<double>(settings_.already + done_) / static_cast<double>(*settings_.rows);
    bar = "|" + bar_text(std::min(share, 1.0), kBarCells) + "| ";
  }
  // \r goes to the line's begin, ESC [K clears what an earlier, longer text left.
  out_ << "\r" << bar << text() << "\x1b[K" << std::flush;
}

void Progress::finish() {
  if (done_ == 0) return;
  draw();
  if (settings_.terminal) out_ << "\n" << std::flush;
}

}  // namespace assay::cli
