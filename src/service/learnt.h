#pragma once
// What learn_calibration() and learn_lesson() have in common behind the asking: the lesson's head data, thresholds,
// totals.

#include <span>
#include <vector>

#include "assay/teaching.h"

namespace assay::service {

// The layout that requests with this setting get.
Layout layout_used(const Decider& decider, Layout layout);

// Name, time, model and layout filled; version 1. The model's SHA-256 is computed where the report has none yet.
// Errors: kIo.
Result<Lesson> begin_lesson(const Decider& decider, const LearnOptions& options);

// The labels of the rows, in all and by option, in the options' order.
void count_labels(std::span<const LabelledQuestion> rows, const Question& question, Lesson& lesson);

// Thresholds for the options' risk out of answers that the lesson did not see: `outcomes[i]` for rows[i]. Nothing where
// no risk is asked for. Errors: kInvalidArgument, field "fallback": no option of the question.
Status add_thresholds(std::span<const Outcome> outcomes, const Question* question, const LearnOptions& options,
                      LearnReport& report);

// Fills what follows from report.before and report.after: log-loss, and what chance alone makes of the calibration
// error.
void sum_up(std::uint64_t seed, LearnReport& report);

// Mean of -ln p of the right option, at least 1e-300 each.
double mean_log_loss(std::span<const Outcome> outcomes);
// Mean probability of the answer given.
double mean_confidence(std::span<const Outcome> outcomes);

// Seconds since then.
class Stopwatch {
 public:
  Stopwatch();
  double seconds() const;

 private:
  std::int64_t began_ns_;
};

}  // namespace assay::service
