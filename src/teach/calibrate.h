#pragma once
// From labelled answers to calibrations: do the probabilities say how often the answers are right?

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "assay/error.h"
#include "assay/evaluation.h"
#include "assay/lesson.h"

namespace assay::teach {

// One labelled answer: the readout's scores (what softmax makes probabilities of) and the option that was right.
struct CalibrationRow {
  std::vector<double> scores;
  std::size_t expected = 0;
  QuestionType type = QuestionType::kChoice;
};

struct CalibrateOptions {
  std::string readout;                  // goes into each Calibration
  std::uint64_t seed = 1;               // of the folds
  std::size_t folds = 5;                // at least 2; fewer where there are fewer rows
  std::size_t bucket_rows_min = 50;     // a bucket with fewer joins the whole of its type
  std::size_t count_rows_min = 10;      // an option count with fewer joins its bucket, or the whole of its type
  std::size_t isotonic_rows_min = 200;  // fewer never get an isotonic map
};

struct CalibrateResult {
  // For each type that has rows: one for all option counts (2 to 1,024), fitted on all of the type's rows; one for each
  // bucket (2, 3-5, 6-15, 16-63, 64-1024 options) and one for each option count that have rows enough, where they are
  // not all of the wider one's. find_calibration() takes the narrowest.
  std::vector<Calibration> calibrations;
  // For each row, in their order: as it is (temperature 1), and as the calibration that find_calibration() takes for
  // it makes it when fitted without the row's fold. Reliability diagrams and totals are made of these.
  std::vector<Outcome> before, after;
};

// Fits a temperature (fit_temperature) to all rows, each type's and each bucket's, and behind it how far evidence is to
// be believed (fit_sureness: two numbers) to all rows, each type's, each bucket's and each option count's. Each fit is
// held at the wider one, so that few rows of a kind take what the others show and many go their own way; the widest at
// temperature 1, slope 1 and shift 0. That option counts are told apart matters more than it seems: questions with so
// many options come from one source more often than not, and are as hard as each other. An isotonic map of the top
// probability comes behind them where it proves itself: with isotonic_rows_min rows, 10 of them right and 10 wrong, if
// out of fold either the log-loss gets smaller by more than one standard error, or the calibration error (ECE) by more
// than 0.01 while the log-loss does not grow by more than one. Values of the map keep 1 / (2 (n + 1)) away from 0 and
// 1: n labels cannot say more. The numbers before and after in each Calibration are out of fold too; a single row's
// `after` is made without any row, as it is. Rows with one option teach nothing and are left out of all fits. The same
// rows, options and seed give the same result. Errors: kInvalidArgument naming the row ("rows[3].scores") for no
// scores, a number that is not finite or a label that is no option.
Result<CalibrateResult> calibrate(std::span<const CalibrationRow> rows, const CalibrateOptions& options);

}  // namespace assay::teach
