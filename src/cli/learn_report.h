#pragma once
// What a lesson was found to be worth, for people and for programs.

#include <string>

#include "assay/teaching.h"
#include "assay/value.h"

namespace assay::cli {

// Accuracy, ECE, Brier score and log-loss before and after, the calibrations, thresholds with their coverage, notes.
std::string learn_text(const LearnReport& report);
Value learn_value(const LearnReport& report);
// A page with reliability diagrams before and after.
std::string learn_html(const LearnReport& report);

// The same with the heads that were tried and the learning curve.
std::string teach_text(const TeachReport& report);
Value teach_value(const TeachReport& report);
std::string teach_html(const TeachReport& report);

}  // namespace assay::cli
