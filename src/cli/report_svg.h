#pragma once
// The two drawings of the evaluation report, as SVG text that scales with the page.

#include <string>
#include <vector>

#include "assay/evaluation.h"

namespace assay::cli {

// Accuracy over confidence for each bin, the diagonal of perfect calibration, and how many answers each bin holds.
std::string reliability_svg(const std::vector<ReliabilityBin>& bins);

// The share of decisions (up) that took at most so many milliseconds (right), with p50 and p95 marked.
std::string latency_svg(std::vector<double> times_ms);

// One point of a curve, with how far it may be off.
struct CurveDot {
  double x = 0;
  double y = 0;  // in [0, 1]
  double spread = 0;
};
// Accuracy (up) over labels an option (right), each with its spread.
std::string learning_svg(const std::vector<CurveDot>& dots);

}  // namespace assay::cli
