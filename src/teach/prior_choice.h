#pragma once
// How large a part the zero-shot readout should have in a head's answers, told by rows that the head was not fitted to.

#include <cstddef>
#include <span>
#include <vector>

#include "teach/temperature.h"

namespace assay::teach {

// How well scores of rows do, at the temperature that suits them best. `losses` are the rows' -ln p of the right
// option.
struct Measured {
  double accuracy = 0, log_loss = 0, temperature = 1;
  std::vector<double> losses;
};
// REQUIRES: at least one row.
Measured measure(std::span<const ScoredLabel> rows);

struct Difference {
  double mean = 0, error = 0;  // of the second less the first, row by row, and its standard error
};
// REQUIRES: as many of each, at least one.
Difference difference(std::span<const double> first, std::span<const double> second);

// What costs more at each answer has to earn it: a log-loss lower by more than two standard errors of the difference,
// and an accuracy that is not lower.
bool earns_its_cost(const Measured& cheap, const Measured& dear);

// A row left out of the head's fit: the head's scores of the options that have labels, and the zero-shot log
// probabilities of all options.
struct PriorRow {
  std::span<const double> scores;
  std::span<const double> zero_shot_log_probs;
  std::size_t expected = 0;  // index into all options
};

struct PriorTrial {
  double weight = 0;
  Measured measured;
  Difference change;  // of the log-loss, from weight 0
};

struct PriorChoice {
  double weight = 0;               // what LinearHead::prior_weight should be
  std::vector<PriorTrial> trials;  // weight 0 first, then what was tried, rising
};

// Tries 0.25, 0.5 and 1, up to `weight_max`, by joined_scores() of apply.h. Of those that earn their cost beside 0 the
// one with the smallest log-loss is taken, else 0, and with fewer than 10 rows 0 whatever they say: a prior makes each
// answer score all options as well. The features are not touched: the head's scores are the same for all weights.
// `options` are those that have labels, rising.
// REQUIRES: at least one row; a score for each of `options`; zero-shot log probabilities, no NaN or plus infinity, for
// each option that there is.
PriorChoice choose_prior(std::span<const PriorRow> rows, std::span<const std::size_t> options, double weight_max = 1);

}  // namespace assay::teach
