#pragma once
// From what left-out rows were answered to what new rows will be: a left-out row's own option had one row less to be
// known by, which with few labels makes a great difference. Pure functions.

#include <cstddef>
#include <span>

#include "assay/evaluation.h"
#include "assay/lesson.h"

namespace assay::teach {

struct Lift {
  double accuracy_left_out = 0;
  double accuracy = 0;  // that is expected of new rows
  double shift = 0;     // of the log odds that an answer is right; at least 0
};

// With n rows to an option the share of wrong answers falls about as n^-1/2, the rate at which means of n rows get
// better. So a left-out row that was answered wrongly with n - 1 rows counts sqrt((n - 1) / n) of a wrong answer. With
// n above 4 it counts whole: what it lacks is then no more than what choosing among heads by these rows flatters. The
// shift takes the same part from what the mean confidence leaves to 1. `rows_of_expected`: n of each outcome's right
// option, the row itself included. REQUIRES: one for each outcome, at least 1; probabilities that sum to 1.
Lift lift_of(std::span<const Outcome> left_out, std::span<const std::size_t> rows_of_expected);

// The calibration, and an outcome of it, with the log odds of the best option raised by so much.
void raise(Calibration& calibration, double shift);
Outcome raised(const Outcome& outcome, double shift);

}  // namespace assay::teach
