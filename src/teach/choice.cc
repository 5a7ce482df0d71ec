#include "teach/choice.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "teach/features.h"
#include "teach/head.h"

namespace assay::teach {
namespace {

constexpr double kShrinkages[] = {kLedoitWolf, 0.2, 0.4, 0.6, 0.8};
constexpr double kLambdas[] = {0.1, 1, 10};

// The rows' numbers of some cues, one behind another, and a fitter on them.
struct Block {
  std::size_t width = 0;
  Standardisation how;
  std::unique_ptr<HeadFitter> fitter;
};

Block block_of(std::span<const HeadRow> rows, const std::vector<std::size_t>& cues, bool normalised) {
  std::vector<float> x;
  std::vector<std::size_t> classes;
  for (const HeadRow& row : rows) {
    for (const std::size_t cue : cues) x.insert(x.end(), row.by_cue[cue].begin(), row.by_cue[cue].end());
    classes.push_back(row.option);
  }
  Block block;
  block.width = x.size() / rows.size();
  block.how = standardisation(x, block.width, normalised);
  block.fitter = std::make_unique<HeadFitter>(prepared(x, block.how), block.width, std::move(classes));
  return block;
}

HeadMethod method_of(const std::string& name) { return name == "ridge" ? HeadMethod::kRidge : HeadMethod::kLda; }

double accuracy_of(std::span<const HeadRow> rows, const std::vector<double>& scores, std::size_t option_count) {
  std::size_t right = 0;
  std::size_t tested = 0;
  for (std::size_t i = 0; i < rows.size(); i++) {
    if (rows[i].words) continue;
    const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(i * option_count);
    const auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(option_count));
    tested++;
    right += static_cast<std::size_t>(best - begin) == rows[i].option ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(tested);
}

// All heads over some cues.
class Trials {
 public:
  Trials(std::span<const HeadRow> rows, std::size_t option_count, const ChoiceSettings& settings)
      : rows_(rows), option_count_(option_count), settings_(settings) {}

  // Appends to what was tried; the most accurate of these.
  HeadTrial over(const std::vector<std::size_t>& cues, bool normalised) {
    const Block block = block_of(rows_, cues, normalised);
    std::optional<HeadTrial> best;
    const auto consider = [&](HeadMethod method, double regularisation) {
      const Result<std::vector<double>> scores = block.fitter->leave_one_out(method, regularisation);
      if (!scores.ok()) return;  // too small for these rows
      HeadTrial trial{.method = head_method_name(method),
                      .regularisation = regularisation,
                      .cues = cues,
                      .normalised = normalised,
                      .accuracy = accuracy_of(rows_, *scores, option_count_)};
      if (!best || trial.accuracy > best->accuracy) best = trial;
      tried_.push_back(std::move(trial));
    };
    if (settings_.method != "ridge") {
      for (const double shrinkage : kShrinkages) consider(HeadMethod::kLda, shrinkage);
    }
    if (settings_.method != "lda") {
      for (const double lambda : kLambdas) consider(HeadMethod::kRidge, lambda);
    }
    return best.value_or(HeadTrial{});
  }

  std::vector<HeadTrial> take() {
    // The narrower first, so that it wins where both are as good.
    std::stable_sort(tried_.begin(), tried_.end(), [](const HeadTrial& a, const HeadTrial& b) {
      if (a.accuracy != b.accuracy) return a.accuracy > b.accuracy;
      return a.cues.size() < b.cues.size();
    });
    return std::move(tried_);
  }

 private:
  const std::span<const HeadRow> rows_;
  const std::size_t option_count_;
  const ChoiceSettings& settings_;
  std::vector<HeadTrial> tried_;
};

Status check(std::span<const HeadRow> rows, std::size_t option_count) {
  if (rows.empty()) return invalid_argument("rows", "There are no rows.");
  std::vector<bool> has_row(option_count, false);
  bool tested = false;
  for (std::size_t i = 0; i < rows.size(); i++) {
    const HeadRow& row = rows[i];
    const std::string where = "rows[" + std::to_string(i) + "]";
    if (row.option >= option_count) return invalid_argument(where + ".option", where + ".option is none.");
    const auto same_size = [](const std::vector<float>& a, const std::vector<float>& b) {
      return a.size() == b.size() && !a.empty();
    };
    if (!std::equal(row.by_cue.begin(), row.by_cue.end(), rows.front().by_cue.begin(), rows.front().by_cue.end(),
                    same_size))
      return invalid_argument(where + ".by_cue", where + " has other sizes than the first row.");
    has_row[row.option] = true;
    tested = tested || !row.words;
  }
  if (rows.front().by_cue.empty()) return invalid_argument("rows", "The rows have no cues.");
  if (!tested) return invalid_argument("rows", "There is no labelled row.");
  const auto missing = std::find(has_row.begin(), has_row.end(), false);
  if (missing != has_row.end())
    return invalid_argument("rows", "Option " + std::to_string(missing - has_row.begin()) + " has no row.");
  return {};
}

std::vector<float> floats(const std::vector<double>& numbers) {
  std::vector<float> out;
  out.reserve(numbers.size());
  for (const double number : numbers) out.push_back(static_cast<float>(number));
  return out;
}

Result<LinearHead> fitted(const Block& block, std::size_t option_count, const HeadTrial& trial) {
  const Result<FittedHead> fit = block.fitter->fit(method_of(trial.method), trial.regularisation);
  if (!fit.ok()) return fit.error();
  LinearHead head{.method = trial.method,
                  .regularisation = fit->regularisation,
                  .cues = {},
                  .width = block.width,
                  .mean = block.how.mean,
                  .scale = block.how.scale,
                  .normalised = block.how.normalised,
                  .weights = floats(fit->weights),
                  .bias = floats(fit->bias),
                  .options = {},
                  .prior_weight = 0};
  for (std::size_t i = 0; i < option_count; i++) head.options.push_back(i);
  return head;
}

}  // namespace

Result<HeadChoice> choose_head(std::span<const HeadRow> rows, std::size_t option_count,
                               const ChoiceSettings& settings) {
  if (Status good = check(rows, option_count); !good.ok()) return good.error();
  Trials trials(rows, option_count, settings);
  const std::size_t cue_count = rows.front().by_cue.size();
  HeadTrial best;
  best.accuracy = -1;
  for (std::size_t cue = 0; cue < cue_count; cue++) {
    for (const bool normalised : {true, false}) {
      HeadTrial trial = trials.over({cue}, normalised);
      if (!trial.cues.empty() && trial.accuracy > best.accuracy) best = std::move(trial);
    }
  }
  if (best.cues.empty()) return invalid_argument("rows", "No head can be fitted to these rows.");
  for (std::size_t cue = 0; settings.pairs && cue < cue_count; cue++) {
    if (cue == best.cues.front()) continue;
    (void)trials.over({std::min(cue, best.cues.front()), std::max(cue, best.cues.front())}, best.normalised);
  }
  HeadChoice choice;
  choice.tried = trials.take();
  const HeadTrial& winner = choice.tried.front();
  const Block block = block_of(rows, winner.cues, winner.normalised);
  Result<LinearHead> head = fitted(block, option_count, winner);
  if (!head.ok()) return head.error();
  const Result<std::vector<double>> scores =
      block.fitter->leave_one_out(method_of(winner.method), winner.regularisation);
  if (!scores.ok()) return scores.error();
  choice.scores.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); i++) {
    const auto begin = scores->begin() + static_cast<std::ptrdiff_t>(i * option_count);
    if (!rows[i].words) choice.scores[i].assign(begin, begin + static_cast<std::ptrdiff_t>(option_count));
  }
  choice.head = std::move(head).value();
  choice.cues = winner.cues;
  choice.accuracy = winner.accuracy;
  return choice;
}

Result<LinearHead> fit_head(std::span<const HeadRow> rows, std::size_t option_count, const HeadTrial& trial) {
  if (Status good = check(rows, option_count); !good.ok()) return good.error();
  return fitted(block_of(rows, trial.cues, trial.normalised), option_count, trial);
}

}  // namespace assay::teach
