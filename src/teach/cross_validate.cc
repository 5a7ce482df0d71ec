#include "teach/cross_validate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/parallel.h"
#include "decision/readout.h"
#include "teach/apply.h"
#include "teach/features.h"
#include "teach/folds.h"
#include "teach/prior_choice.h"
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
// Where options have fewer rows than this on average, a row left out is half of what its option has. That is unfair to
// every head, but to ridge and to little shrinkage most, and makes the zero-shot readout look better than it is beside
// it. So only what has done well with few rows elsewhere is tried there.
constexpr double kRowsPerOptionFew = 3;
constexpr double kShrinkagesFew[] = {0.7, 0.9};
constexpr double kFirstShrinkageFew = 0.9;
constexpr double kPriorWeightFew = 0.25;
constexpr double kDefaultShrinkage = 0.7;
constexpr double kDefaultLambda = 1;
constexpr double kDefaultSharpnessLda = 0.1;
constexpr double kDefaultSharpnessRidge = 10;

// The rows tested with the head's own scores, over its classes.
std::vector<ScoredLabel> own_labels(const RowSet& rows, const std::vector<double>& scores) {
  std::vector<ScoredLabel> out;
  for (const std::size_t row : rows.tested()) out.push_back({rows.row_of(scores, row), rows.classes()[row]});
  return out;
}

struct Candidate {
  TriedHead tried;
  Measured measured;
};

bool has_few(const RowSet& rows) {
  return static_cast<double>(rows.row_count()) < kRowsPerOptionFew * static_cast<double>(rows.class_count());
}

class Search {
 public:
  Search(const RowSet& rows, const ChoiceSettings& settings, HeadChoice& out)
      : rows_(rows), settings_(settings), out_(out) {
    few_ = has_few(rows);
  }

  Result<TriedHead> run() {
    const auto single = best_of(1);
    if (!single) return single.error();
    if (!settings_.join_cues || rows_.cue_count() < 2) return single->tried;
    const auto joined = best_of(2);
    if (!joined) return joined.error();
    return earns_its_cost(single->measured, joined->measured) ? joined->tried : single->tried;
  }

 private:
  using Attempt = std::optional<Result<Candidate>>;

  Result<Candidate> best_of(std::size_t cues_together) {
    std::optional<Candidate> best;
    std::vector<Candidate> on_best;  // of each method
    const std::vector<std::vector<std::size_t>> all = combinations(cues_together);
    std::vector<std::vector<Attempt>> attempts(all.size());
    in_parallel(all.size(), settings_.threads, [&](std::size_t i) {
      const HeadFitter fitter = rows_.fitter(all[i], settings_.normalise);
      for (const HeadMethod method : methods())
        attempts[i].push_back(attempt(fitter, all[i], method, first_of(method)));
    });
    for (std::vector<Attempt>& of_cues : attempts) {
      auto tried = note(std::move(of_cues));
      if (!tried) return tried.error();
      std::vector<Candidate> here = std::move(*tried);
      const Candidate& winner = *std::min_element(here.begin(), here.end(), is_better);
      // With few rows the first cue is as good a guess as a comparison by chance.
      const bool better = !best || (few_ ? earns_its_cost(best->measured, winner.measured) : is_better(winner, *best));
      if (!better) continue;
      best = winner;
      on_best = std::move(here);
    }
    if (settings_.regularisation) return std::move(*best);
    const std::vector<std::size_t> cues = best->tried.cues;
    const HeadFitter fitter = rows_.fitter(cues, settings_.normalise);
    for (const Candidate& first : on_best) {
      const Difference behind = difference(best->measured.losses, first.measured.losses);
      if (behind.mean > 2 * behind.error) continue;
      std::vector<double> others;
      for (const double regularisation : grid(first.tried.method))
        if (regularisation != first.tried.regularisation) others.push_back(regularisation);
      std::vector<Attempt> of_method(others.size());
      in_parallel(others.size(), settings_.threads,
                  [&](std::size_t i) { of_method[i] = attempt(fitter, cues, first.tried.method, others[i]); });
      auto tried = note(std::move(of_method));
      if (!tried) return tried.error();
      for (Candidate& candidate : *tried)
        if (is_better(candidate, *best)) best = std::move(candidate);
    }
    return std::move(*best);
  }

  static bool is_better(const Candidate& a, const Candidate& b) { return a.tried.log_loss < b.tried.log_loss; }

  // What was tried goes into the report in its order, whoever was ready first.
  Result<std::vector<Candidate>> note(std::vector<Attempt> attempts) {
    std::vector<Candidate> out;
    for (Attempt& tried : attempts) {
      if (!*tried) return tried->error();
      out_.tried.push_back((*tried)->tried);
      out.push_back(std::move(**tried));
    }
    return out;
  }

  // Beside others of its kind.
  Attempt attempt(const HeadFitter& fitter, const std::vector<std::size_t>& cues, HeadMethod method,
                  double regularisation) const {
    if (method == HeadMethod::kLda && regularisation == kLedoitWolf) {
      // With very many rows the formula's can be too small to solve with.
      regularisation = std::max(fitter.formula_shrinkage(), kShrinkageMin);
    }
    const auto scores = fitter.leave_one_out(method, regularisation);
    if (!scores) return scores.error();
    Measured measured = measure(own_labels(rows_, *scores));
    const TriedHead tried{cues, method, regularisation, measured.accuracy, measured.log_loss};
    return Candidate{tried, std::move(measured)};
  }

  std::vector<HeadMethod> methods() const {
    if (settings_.method) return {*settings_.method};
    if (few_) return {HeadMethod::kLda};
    return {HeadMethod::kLda, HeadMethod::kRidge};
  }
  double first_of(HeadMethod method) const {
    if (settings_.regularisation) return *settings_.regularisation;
    if (method == HeadMethod::kRidge) return kFirstLambda;
    return few_ ? kFirstShrinkageFew : kFirstShrinkage;
  }
  std::span<const double> grid(HeadMethod method) const {
    if (few_ && method == HeadMethod::kLda) return kShrinkagesFew;
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
  bool few_ = false;
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

// How a chosen head goes on to answers.
struct Use {
  double sharpness = 1;  // its scores are multiplied by this, so that softmax makes probabilities of them
  double prior_weight = 0;
};

// Scores of the rows left out, by the chosen head; how right they are; and how the head is used.
Result<Use> score_rows(const RowSet& all, std::span<const TeachingRow> rows, const TriedHead& chosen,
                       const ChoiceSettings& settings, HeadChoice& out) {
  Use use{chosen.method == HeadMethod::kLda ? kDefaultSharpnessLda : kDefaultSharpnessRidge,
          settings.prior_weight.value_or(0)};
  out.scores.resize(rows.size());
  out.rows_tested = all.tested().size();
  if (!out.measured && !settings.prior_weight && has_zero_shot_log_probs(rows)) use.prior_weight = kPriorWeightFew;
  if (all.tested().empty()) return use;
  auto scores = all.fitter(chosen.cues, settings.normalise).leave_one_out(chosen.method, chosen.regularisation);
  if (!scores) return scores.error();
  if (out.measured) use.sharpness = 1 / measure(own_labels(all, *scores)).temperature;
  for (double& score : *scores) score *= use.sharpness;
  out.scores = joined(all, rows, *scores, use.prior_weight);
  Measured best = measure(all, rows, out.scores);
  out.accuracy_zero_shot = zero_shot_accuracy(all, rows);
  const bool may_choose = out.measured && !settings.prior_weight && out.accuracy_zero_shot >= 0;
  if (may_choose) {
    std::vector<PriorRow> priors;
    for (const std::size_t row : all.tested())
      priors.push_back({all.row_of(*scores, row), rows[row].zero_shot_log_probs, rows[row].option});
    use.prior_weight = choose_prior(priors, all.options(), prior_weight_max(rows)).weight;
    out.scores = joined(all, rows, *scores, use.prior_weight);
    best = measure(all, rows, out.scores);
  }
  out.accuracy = best.accuracy;
  out.accuracy_error = std::sqrt(best.accuracy * (1 - best.accuracy) / static_cast<double>(out.rows_tested));
  return use;
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
  head.lambda = fitted->lambda;
  return head;
}

double prior_weight_max(std::span<const TeachingRow> rows) { return has_few(RowSet(rows)) ? kPriorWeightFew : 1; }

void sharpen(LinearHead& head, double factor) {
  for (float& weight : head.weights) weight = static_cast<float>(static_cast<double>(weight) * factor);
  for (float& bias : head.bias) bias = static_cast<float>(static_cast<double>(bias) * factor);
  head.sharpness *= factor;
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
  const auto use = score_rows(all, rows, chosen, settings, out);
  if (!use) return use.error();
  auto head = fit_head(rows, chosen.cues, chosen.method, chosen.regularisation, use->prior_weight, settings.normalise);
  if (!head) return head.error();
  sharpen(*head, use->sharpness);
  out.head = std::move(*head);
  out.cues = chosen.cues;
  return out;
}

}  // namespace assay::teach
