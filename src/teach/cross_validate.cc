#include "teach/cross_validate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/assert.h"
#include "decision/readout.h"
#include "teach/apply.h"
#include "teach/features.h"
#include "teach/folds.h"
#include "teach/teaching_rows.h"
#include "teach/temperature.h"

// The search goes in two steps. First every cue and every two are tried with one head of each method; then the best
// single cue and the best two are tried with each regularisation of the methods that are not clearly worse there.
namespace assay::teach {
namespace {

constexpr std::size_t kTestedRowsMin = 10;
constexpr double kShrinkages[] = {kLedoitWolf, 0.1, 0.3, 0.5, 0.7, 0.9};
constexpr double kLambdas[] = {0.03, 0.1, 0.3, 1, 3};
constexpr double kFirstShrinkage = 0.7;
constexpr double kFirstLambda = 0.3;
constexpr double kPriorWeights[] = {0.25, 0.5, 1};
constexpr double kDefaultShrinkage = 0.7;
constexpr double kDefaultLambda = 1;

// Of one row each, in the order of the rows tested.
using Losses = std::vector<double>;

struct Difference {
  double mean = 0, error = 0;  // of the second less the first, and its standard error
};

Difference difference(const Losses& first, const Losses& second) {
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

bool clearly_better(const Losses& than, const Losses& candidate) {
  const Difference change = difference(than, candidate);
  return change.mean < -change.error;
}

// How well scores of tested rows do, at their best temperature.
struct Measured {
  double accuracy = 0, log_loss = 0;
  Losses losses;
};

Measured measure(std::span<const ScoredLabel> labels) {
  Measured out;
  const double temperature = fit_temperature(labels);
  for (const ScoredLabel& label : labels) {
    out.losses.push_back(log_loss_at(std::span(&label, 1), temperature));
    out.log_loss += out.losses.back();
    if (decision::best_option(label.scores) == label.expected) out.accuracy += 1;
  }
  out.log_loss /= static_cast<double>(labels.size());
  out.accuracy /= static_cast<double>(labels.size());
  return out;
}

struct Candidate {
  TriedHead tried;
  Losses losses;
};

class Search {
 public:
  Search(const RowSet& rows, const ChoiceSettings& settings, HeadChoice& out)
      : rows_(rows), settings_(settings), out_(out), tested_(rows.tested()) {}

  Result<TriedHead> run() {
    const auto single = best_of(1);
    if (!single) return single.error();
    if (!settings_.join_cues || rows_.cue_count() < 2) return single->tried;
    const auto joined = best_of(2);
    if (!joined) return joined.error();
    return clearly_better(single->losses, joined->losses) ? joined->tried : single->tried;
  }

 private:
  Result<Candidate> best_of(std::size_t cues_together) {
    std::optional<Candidate> best;
    std::vector<Candidate> on_best;  // of each method
    for (const std::vector<std::size_t>& cues : combinations(cues_together)) {
      const HeadFitter fitter = rows_.fitter(cues, settings_.normalise);
      std::vector<Candidate> here;
      for (const HeadMethod method : methods()) {
        auto tried = attempt(fitter, cues, method, first_of(method));
        if (!tried) return tried.error();
        here.push_back(std::move(*tried));
      }
      const Candidate& winner = *std::min_element(here.begin(), here.end(), is_better);
      if (best && !is_better(winner, *best)) continue;
      best = winner;
      on_best = std::move(here);
    }
    if (settings_.regularisation) return std::move(*best);
    const std::vector<std::size_t> cues = best->tried.cues;
    const HeadFitter fitter = rows_.fitter(cues, settings_.normalise);
    for (const Candidate& first : on_best) {
      const Difference behind = difference(best->losses, first.losses);
      if (behind.mean > 2 * behind.error) continue;
      for (const double regularisation : grid(first.tried.method)) {
        if (regularisation == first.tried.regularisation) continue;
        auto tried = attempt(fitter, cues, first.tried.method, regularisation);
        if (!tried) return tried.error();
        if (is_better(*tried, *best)) best = std::move(*tried);
      }
    }
    return std::move(*best);
  }

  static bool is_better(const Candidate& a, const Candidate& b) { return a.tried.log_loss < b.tried.log_loss; }

  Result<Candidate> attempt(const HeadFitter& fitter, const std::vector<std::size_t>& cues, HeadMethod method,
                            double regularisation) {
    if (method == HeadMethod::kLda && regularisation == kLedoitWolf) {
      // With very many rows the formula's can be too small to solve with.
      regularisation = std::max(fitter.formula_shrinkage(), kShrinkageMin);
    }
    const auto scores = fitter.leave_one_out(method, regularisation);
    if (!scores) return scores.error();
    std::vector<ScoredLabel> labels;
    for (const std::size_t row : tested_) labels.push_back({rows_.row_of(*scores, row), rows_.classes()[row]});
    Measured measured = measure(labels);
    out_.tried.push_back({cues, method, regularisation, measured.accuracy, measured.log_loss});
    return Candidate{out_.tried.back(), std::move(measured.losses)};
  }

  std::vector<HeadMethod> methods() const {
    if (settings_.method) return {*settings_.method};
    return {HeadMethod::kLda, HeadMethod::kRidge};
  }
  double first_of(HeadMethod method) const {
    if (settings_.regularisation) return *settings_.regularisation;
    return method == HeadMethod::kLda ? kFirstShrinkage : kFirstLambda;
  }
  static std::span<const double> grid(HeadMethod method) {
    return method == HeadMethod::kLda ? std::span<const double>(kShrinkages) : std::span<const double>(kLambdas);
  }

  std::vector<std::vector<std::size_t>> combinations(std::size_t cues_together) const {
    std::vector<std::vector<std::size_t>> out;
    for (std::size_t a = 0; a < rows_.cue_count(); a++) {
      if (cues_together == 1) out.push_back({a});
      for (std::size_t b = a + 1; cues_together == 2 && b < rows_.cue_count(); b++) out.push_back({a, b});
    }
    return out;
  }

  const RowSet& rows_;
  const ChoiceSettings& settings_;
  HeadChoice& out_;
  std::vector<std::size_t> tested_;
};

TriedHead default_head(const RowSet& rows, const ChoiceSettings& settings) {
  TriedHead out;
  out.cues = {0};
  const bool has_spread = rows.class_count() < rows.row_count();
  out.method = settings.method.value_or(has_spread ? HeadMethod::kLda : HeadMethod::kRidge);
  const double usual = out.method == HeadMethod::kLda ? kDefaultShrinkage : kDefaultLambda;
  out.regularisation = settings.regularisation.value_or(usual);
  return out;
}

// Scores of all options for each tested row of `all`, with this weight of the zero-shot readout.
std::vector<std::vector<double>> joined(const RowSet& all, std::span<const TeachingRow> rows,
                                        const std::vector<double>& scores, double prior_weight) {
  std::vector<std::vector<double>> out(rows.size());
  for (const std::size_t row : all.tested()) {
    const std::span<const double> own = all.row_of(scores, row);
    std::vector<double> nothing;
    std::span<const double> zero_shot = rows[row].zero_shot_log_probs;
    if (zero_shot.empty()) {  // then all options have rows, and the weight is 0
      nothing.assign(all.class_count(), 0.0);
      zero_shot = nothing;
    }
    auto made = joined_scores(all.options(), own, prior_weight, zero_shot);
    ASSAY_ASSERT(made.ok());  // the rows were checked
    out[row] = std::move(*made);
  }
  return out;
}

Measured measure(const RowSet& all, std::span<const TeachingRow> rows, const std::vector<std::vector<double>>& scores) {
  std::vector<ScoredLabel> labels;
  for (const std::size_t row : all.tested()) labels.push_back({scores[row], rows[row].option});
  return measure(labels);
}

double zero_shot_accuracy(const RowSet& all, std::span<const TeachingRow> rows) {
  double right = 0;
  for (const std::size_t row : all.tested()) {
    if (rows[row].zero_shot_log_probs.empty()) return -1;
    if (decision::best_option(rows[row].zero_shot_log_probs) == rows[row].option) right += 1;
  }
  return right / static_cast<double>(all.tested().size());
}

// Scores of the rows left out, by the chosen head; how right they are; and the prior weight.
Result<double> score_rows(const RowSet& all, std::span<const TeachingRow> rows, const TriedHead& chosen,
                          const ChoiceSettings& settings, HeadChoice& out) {
  const double given = settings.prior_weight.value_or(0);
  out.scores.resize(rows.size());
  out.rows_tested = all.tested().size();
  if (all.tested().empty()) return given;
  const auto scores = all.fitter(chosen.cues, settings.normalise).leave_one_out(chosen.method, chosen.regularisation);
  if (!scores) return scores.error();
  double weight = given;
  out.scores = joined(all, rows, *scores, given);
  Measured best = measure(all, rows, out.scores);
  out.accuracy_zero_shot = zero_shot_accuracy(all, rows);
  const bool may_choose = out.measured && !settings.prior_weight && out.accuracy_zero_shot >= 0;
  if (may_choose) {
    const Losses without = best.losses;
    for (const double other : kPriorWeights) {
      auto with = joined(all, rows, *scores, other);
      Measured measured = measure(all, rows, with);
      if (!clearly_better(without, measured.losses) || measured.log_loss >= best.log_loss) continue;
      weight = other;
      best = std::move(measured);
      out.scores = std::move(with);
    }
  }
  out.accuracy = best.accuracy;
  out.accuracy_error = std::sqrt(best.accuracy * (1 - best.accuracy) / static_cast<double>(out.rows_tested));
  return weight;
}

}  // namespace

Result<LinearHead> fit_head(std::span<const TeachingRow> rows, const std::vector<std::size_t>& cues, HeadMethod method,
                            double regularisation, double prior_weight, bool normalise) {
  const RowSet all(rows);
  Standardisation how;
  const HeadFitter fitter = all.fitter(cues, normalise, &how);
  const auto fitted = fitter.fit(method, regularisation);
  if (!fitted) return fitted.error();
  LinearHead head;
  head.method = head_method_name(method);
  head.regularisation = fitted->regularisation;
  head.width = how.mean.size();
  head.mean = std::move(how.mean);
  head.scale = std::move(how.scale);
  head.normalised = normalise;
  for (const double weight : fitted->weights) head.weights.push_back(static_cast<float>(weight));
  for (const double bias : fitted->bias) head.bias.push_back(static_cast<float>(bias));
  head.options = all.options();
  head.prior_weight = prior_weight;
  return head;
}

Result<HeadChoice> choose_head(std::span<const TeachingRow> rows, std::size_t option_count,
                               const ChoiceSettings& settings) {
  if (Status status = check_rows(rows, option_count); !status) return status.error();
  if (settings.regularisation && !settings.method) {
    return invalid_argument("regularisation", "regularisation needs the method that it is for");
  }
  const double weight_given = settings.prior_weight.value_or(0);
  if (!(weight_given >= 0 && weight_given <= 1)) {
    return invalid_argument("prior_weight", "prior_weight must lie in 0..1");
  }
  const RowSet all(rows);
  const bool has_zero_shot = has_zero_shot_log_probs(rows);
  if (!has_zero_shot && (weight_given > 0 || all.class_count() < option_count)) {
    return invalid_argument("zero_shot_log_probs",
                            "zero_shot_log_probs are missing; options without labels and a prior "
                            "weight other than 0 need them");
  }
  HeadChoice out;
  out.measured = all.tested().size() >= kTestedRowsMin;
  TriedHead chosen = default_head(all, settings);
  if (out.measured) {
    const RowSet sample = all.sample(settings.search_rows_max, settings.seed);
    auto found = Search(sample, settings, out).run();
    if (!found) return found.error();
    chosen = std::move(*found);
  }
  const auto weight = score_rows(all, rows, chosen, settings, out);
  if (!weight) return weight.error();
  auto head = fit_head(rows, chosen.cues, chosen.method, chosen.regularisation, *weight, settings.normalise);
  if (!head) return head.error();
  out.head = std::move(*head);
  out.cues = chosen.cues;
  return out;
}

}  // namespace assay::teach
