#include "cli/report_svg.h"

#include <algorithm>
#include <cmath>

#include "cli/text_table.h"

// Both drawings use a plot of 320 x 260 units at (50, 20), y upwards:
//   x = 50 + 320 * share_x, y = 280 - 260 * share_y
namespace assay::cli {
namespace {

constexpr double kLeft = 50;
constexpr double kBottom = 280;
constexpr double kWidth = 320;
constexpr double kHeight = 260;

std::string at_x(double share) { return fixed(kLeft + kWidth * share, 1); }
std::string at_y(double share) { return fixed(kBottom - kHeight * share, 1); }

std::string line(double x1, double y1, double x2, double y2, const std::string& css) {
  return "<line class=\"" + css + "\" x1=\"" + at_x(x1) + "\" y1=\"" + at_y(y1) + "\" x2=\"" + at_x(x2) + "\" y2=\"" +
         at_y(y2) + "\"/>";
}

std::string label(const std::string& x, const std::string& y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + x + "\" y=\"" + y + "\" text-anchor=\"" + anchor + "\">" + text + "</text>";
}

// Opens the drawing, with axes, grid and the numbers of the upward axis.
std::string frame(const std::string& title, const std::string& x_name, const std::string& y_name) {
  std::string out = "<svg viewBox=\"0 0 400 330\" role=\"img\" aria-label=\"" + title + "\">";
  for (int i = 0; i <= 4; ++i) {
    const double share = i / 4.0;
    out += line(0, share, 1, share, "grid");
    out += label(fixed(kLeft - 6, 0), fixed(kBottom - kHeight * share + 4, 1), "end", fixed(share, 2));
  }
  out += line(0, 0, 1, 0, "axis") + line(0, 0, 0, 1, "axis");
  out += label(at_x(0.5), "322", "middle", x_name);
  out += "<text x=\"12\" y=\"150\" text-anchor=\"middle\" transform=\"rotate(-90 12 150)\">" + y_name + "</text>";
  return out;
}

std::string millisecond_text(double ms) { return fixed(ms, ms < 10 ? 1 : 0); }

}  // namespace

std::string reliability_svg(const std::vector<ReliabilityBin>& bins) {
  std::string out = frame("Reliability diagram", "confidence of the answer given", "share right");
  for (int i = 0; i <= 4; ++i) out += label(at_x(i / 4.0), "297", "middle", fixed(i / 4.0, 2));
  for (const ReliabilityBin& bin : bins) {
    if (bin.count == 0) continue;
    const double width = bin.high - bin.low;
    out += "<rect class=\"bar\" x=\"" + at_x(bin.low + width * 0.06) + "\" y=\"" + at_y(bin.accuracy) + "\" width=\"" +
           fixed(kWidth * width * 0.88, 1) + "\" height=\"" + fixed(kHeight * bin.accuracy, 1) + "\"><title>" +
           std::to_string(bin.count) + " answers, confidence " + fixed(bin.confidence, 3) + ", right " +
           fixed(bin.accuracy, 3) + "</title></rect>";
    out += "<circle class=\"dot\" cx=\"" + at_x(bin.confidence) + "\" cy=\"" + at_y(bin.accuracy) + "\" r=\"3.5\"/>";
    out += label(at_x(bin.low + width / 2), fixed(kBottom - kHeight * bin.accuracy - 5, 1), "middle",
                 std::to_string(bin.count));
  }
  return out + line(0, 0, 1, 1, "ideal") + "</svg>";
}

std::string latency_svg(std::vector<double> times_ms) {
  std::string out = frame("Latency curve", "milliseconds for one decision", "share of decisions");
  if (times_ms.empty()) return out + "</svg>";
  std::sort(times_ms.begin(), times_ms.end());
  const double longest = std::max(times_ms.back(), 1e-3);
  for (int i = 0; i <= 4; ++i) {
    out += label(at_x(i / 4.0), "297", "middle", millisecond_text(longest * i / 4));
  }
  // A step for each time: right at the old share, then up to the new one. Longer lists are thinned to 500 points.
  const std::size_t stride = times_ms.size() / 500 + 1;
  std::string path = "M" + at_x(0) + " " + at_y(0);
  for (std::size_t i = 0; i < times_ms.size(); ++i) {
    if (i % stride != 0 && i + 1 != times_ms.size()) continue;
    path += "H" + at_x(times_ms[i] / longest);
    path += "V" + at_y(static_cast<double>(i + 1) / static_cast<double>(times_ms.size()));
  }
  out += "<path class=\"curve\" d=\"" + path + "\"/>";
  for (const double share : {0.5, 0.95}) {
    const double ms = percentile(times_ms, share);
    out += line(ms / longest, 0, ms / longest, share, "mark");
    const bool right_half = ms / longest > 0.6;
    out += label(fixed(kLeft + kWidth * ms / longest + (right_half ? -5 : 5), 1),
                 fixed(kBottom - (share < 0.9 ? 8 : 24), 0), right_half ? "end" : "start",
                 std::string(share < 0.9 ? "p50 " : "p95 ") + millisecond_text(ms) + " ms");
  }
  return out + "</svg>";
}

std::string learning_svg(const std::vector<CurveDot>& dots) {
  std::string out = frame("Learning curve", "labels an option", "accuracy");
  if (dots.empty()) return out + "</svg>";
  double longest = 0;
  for (const CurveDot& dot : dots) longest = std::max(longest, dot.x);
  longest = std::max(longest, 1e-9);
  std::string path;
  for (const CurveDot& dot : dots) {
    const double x = dot.x / longest;
    path += (path.empty() ? "M" : "L") + at_x(x) + " " + at_y(dot.y);
    out += line(x, std::max(0.0, dot.y - dot.spread), x, std::min(1.0, dot.y + dot.spread), "axis");
    out += "<circle class=\"dot\" cx=\"" + at_x(x) + "\" cy=\"" + at_y(dot.y) + "\" r=\"3.5\"/>";
    out += label(at_x(x), "297", "middle", fixed(dot.x, dot.x < 10 ? 1 : 0));
    out += label(at_x(x), fixed(kBottom - kHeight * dot.y - 10, 1), "middle", fixed(dot.y, 3));
  }
  return out + "<path class=\"curve\" d=\"" + path + "\"/></svg>";
}

}  // namespace assay::cli
