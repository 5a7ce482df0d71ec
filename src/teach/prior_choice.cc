#include "teach/prior_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "decision/readout.h"
#include "teach/apply.h"

namespace assay::teach {
namespace {

constexpr double kWeights[] = {0, 0.25, 0.5, 1};
constexpr std::size_t kRowsMin = 10;

Measured measure_with(std::span<const PriorRow> rows, std::span<const std::size_t> options, double weight) {
  std::vector<std::vector<double>> scores;
  for (const PriorRow& row : rows) {
    auto joined = joined_scores(options, row.scores, weight, row.zero_shot_log_probs);
    ASSAY_ASSERT(joined.ok());  // what it REQUIRES is required here
    scores.push_back(std::move(*joined));
  }
  std::vector<ScoredLabel> labels;
  for (std::size_t i = 0; i < rows.size(); i++) labels.push_back({scores[i], rows[i].expected});
  return measure(labels);
}

}  // namespace

Measured measure(std::span<const ScoredLabel> rows) {
  ASSAY_ASSERT(!rows.empty());
  Measured out;
  out.temperature = fit_temperature(rows);
  for (const ScoredLabel& row : rows) {
    out.losses.push_back(log_loss_at(std::span(&row, 1), out.temperature));
    out.log_loss += out.losses.back();
    if (decision::best_option(row.scores) == row.expected) out.accuracy += 1;
  }
  out.log_loss /= static_cast<double>(rows.size());
  out.accuracy /= static_cast<double>(rows.size());
  return out;
}

Difference difference(std::span<const double> first, std::span<const double> second) {
  ASSAY_ASSERT(!first.empty() && first.size() == second.size());
  const auto n = static_cast<double>(first.size());
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < first.size(); i++) {
    const double one = second[i] - first[i];
    sum += one;
    squares += one * one;
  }
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / n)};
}

bool earns_its_cost(const Measured& cheap, const Measured& dear) {
  const Difference change = difference(cheap.losses, dear.losses);
  return change.mean < -2 * change.error && dear.accuracy >= cheap.accuracy;
}

PriorChoice choose_prior(std::span<const PriorRow> rows, std::span<const std::size_t> options, double weight_max) {
  PriorChoice out;
  double best = 0;
  for (const double weight : kWeights) {
    if (weight > weight_max) break;
    PriorTrial trial{.weight = weight, .measured = measure_with(rows, options, weight), .change = {}};
    if (out.trials.empty()) {
      best = trial.measured.log_loss;
    } else {
      const Measured& without = out.trials.front().measured;
      trial.change = difference(without.losses, trial.measured.losses);
      const bool earns = rows.size() >= kRowsMin && earns_its_cost(without, trial.measured);
      if (earns && trial.measured.log_loss < best) {
        out.weight = weight;
        best = trial.measured.log_loss;
      }
    }
    out.trials.push_back(std::move(trial));
  }
  return out;
}

}  // namespace assay::teach
