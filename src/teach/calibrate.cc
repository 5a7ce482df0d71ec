#include "teach/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "decision/readout.h"
#include "teach/apply.h"
#include "teach/folds.h"
#include "teach/isotonic.h"
#include "teach/sureness.h"
#include "teach/temperature.h"

// Which rows share a fit: those of one type and bucket of option counts, if there are enough; all of a type; and all,
// at whose fit each type's is held, as a bucket's is at its type's.
namespace assay::teach {
namespace {

using RowIndexes = std::vector<std::size_t>;

constexpr std::size_t kOptionsMax = 1024;
constexpr std::array<std::pair<std::size_t, std::size_t>, 5> kBuckets = {
    {{2, 2}, {3, 5}, {6, 15}, {16, 63}, {64, kOptionsMax}}};
constexpr std::size_t kOfEachOutcomeMin = 10;  // right answers, and wrong ones, that an isotonic map needs
constexpr double kEceGainMin = 0.01;
// How firmly a group is held at the wider one: in rows, and as precisions of slope and shift.
constexpr double kParentRows = 10;
constexpr double kParentSlopeWeight = 10;
constexpr double kParentShiftWeight = 4;

// What stands behind a calibration: temperature, and how far evidence is to be believed.
struct Base {
  double temperature = 1;
  Sureness sureness;
};

class Calibrator {
 public:
  Calibrator(std::span<const CalibrationRow> rows, const CalibrateOptions& options) : rows_(rows), options_(options) {
    for (const CalibrationRow& row : rows_) out_.before.push_back(outcome_of(row, Calibration{}));
    out_.after = out_.before;
    deal_folds();
  }

  CalibrateResult run() && {
    RowIndexes all;
    for (std::size_t row = 0; row < rows_.size(); row++) {
      if (rows_[row].scores.size() > 1) all.push_back(row);
    }
    const Bases root = bases(all, Bases(fold_count_ + 1));
    for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale})
      fit_type(type, all, root);
    return std::move(out_);
  }

 private:
  // One for each fold, fitted without its rows, and one fitted with all rows at the end.
  using Bases = std::vector<Base>;

  static Outcome outcome_of(const CalibrationRow& row, const Calibration& calibration) {
    auto probabilities = calibrated(calibration, row.scores);
    ASSAY_ASSERT(probabilities.ok());  // the rows were checked
    const std::size_t predicted = decision::best_option(*probabilities);
    return {std::move(*probabilities), row.expected, predicted};
  }

  // Each type's right and wrong answers are spread over the folds alike.
  void deal_folds() {
    RowIndexes classes;
    for (std::size_t row = 0; row < rows_.size(); row++)
      classes.push_back(2 * static_cast<std::size_t>(rows_[row].type) + (is_right(out_.before[row]) ? 1 : 0));
    fold_count_ = std::max<std::size_t>(1, std::min(options_.folds, rows_.size()));
    folds_ = stratified_folds(classes, fold_count_, options_.seed);
  }

  void fit_type(QuestionType type, const RowIndexes& all, const Bases& root) {
    RowIndexes of_type;
    std::array<RowIndexes, kBuckets.size()> of_bucket;
    for (const std::size_t row : all) {
      const std::size_t option_count = rows_[row].scores.size();
      if (rows_[row].type != type) continue;
      of_type.push_back(row);
      for (std::size_t b = 0; b < kBuckets.size(); b++) {
        if (option_count >= kBuckets[b].first && option_count <= kBuckets[b].second) of_bucket[b].push_back(row);
      }
    }
    if (of_type.empty()) return;
    const Bases of_all = of_type.size() == all.size() ? root : bases(of_type, root);
    add(type, {2, kOptionsMax}, of_type, of_all);
    for (std::size_t b = 0; b < kBuckets.size(); b++) {
      const bool enough = of_bucket[b].size() >= options_.bucket_rows_min && !of_bucket[b].empty();
      if (enough && of_bucket[b].size() < of_type.size())
        add(type, kBuckets[b], of_bucket[b], bases(of_bucket[b], of_all));
    }
  }

  // Fits these rows, held at what a wider group was fitted to.
  Bases bases(const RowIndexes& which, const Bases& parents) const {
    Bases out;
    for (std::size_t fold = 0; fold <= fold_count_; fold++) out.push_back(base(which, fold, parents[fold]));
    return out;
  }

  // Without the fold's rows; fold_count_: with all.
  Base base(const RowIndexes& which, std::size_t fold, const Base& parent) const {
    std::vector<ScoredLabel> labels;
    for (const std::size_t row : which) {
      if (folds_[row] != fold) labels.push_back({rows_[row].scores, rows_[row].expected});
    }
    Base out;
    const bool is_root = parent.temperature == 1 && parent.sureness.slope == 1 && parent.sureness.shift == 0;
    out.temperature = fit_temperature(labels, is_root ? kTemperaturePrior : kParentRows,
                                      std::clamp(parent.temperature, kTemperatureMin, kTemperatureMax));
    std::vector<SurenessRow> sure;
    for (const ScoredLabel& label : labels) {
      std::vector<double> scores(label.scores.begin(), label.scores.end());
      const bool right = decision::best_option(scores) == label.expected;
      for (double& score : scores) score /= out.temperature;
      sure.push_back({evidence_of(scores), scores.size(), right});
    }
    SurenessPrior prior{.parent = parent.sureness};
    if (!is_root) {
      prior.slope_weight = kParentSlopeWeight;
      prior.shift_weight = kParentShiftWeight;
    }
    out.sureness = fit_sureness(sure, prior);
    return out;
  }

  // Measures out of fold, and overwrites what a wider calibration said about these rows.
  void add(QuestionType type, std::pair<std::size_t, std::size_t> bucket, const RowIndexes& which,
           const Bases& fitted) {
    const std::vector<Outcome> before = outcomes(which, out_.before);
    std::vector<Outcome> after = out_of_fold(which, fitted, false);
    Calibration made = fit(which, fold_count_, fitted, false);
    if (may_be_isotonic(before)) {
      std::vector<Outcome> with_map = out_of_fold(which, fitted, true);
      if (is_better(after, with_map)) {
        made = fit(which, fold_count_, fitted, true);
        after = std::move(with_map);
      }
    }
    made.readout = options_.readout;
    made.type = question_type_name(type);
    made.options_min = bucket.first;
    made.options_max = bucket.second;
    made.rows = which.size();
    made.ece_before = expected_calibration_error(before);
    made.ece_after = expected_calibration_error(after);
    made.brier_before = brier_score(before);
    made.brier_after = brier_score(after);
    made.log_loss_before = log_loss(before);
    made.log_loss_after = log_loss(after);
    out_.calibrations.push_back(std::move(made));
    for (std::size_t i = 0; i < which.size(); i++) out_.after[which[i]] = std::move(after[i]);
  }

  static std::vector<Outcome> outcomes(const RowIndexes& which, const std::vector<Outcome>& all) {
    std::vector<Outcome> out;
    for (const std::size_t row : which) out.push_back(all[row]);
    return out;
  }

  // Of these rows, those of the fold left out.
  Calibration fit(const RowIndexes& which, std::size_t fold, const Bases& fitted, bool with_map) const {
    Calibration made;
    made.temperature = fitted[fold].temperature;
    made.slope = fitted[fold].sureness.slope;
    made.shift = fitted[fold].sureness.shift;
    if (!with_map) return made;
    std::vector<WeightedPoint> points;
    for (const std::size_t row : which) {
      if (folds_[row] == fold) continue;
      const Outcome outcome = outcome_of(rows_[row], made);
      const double right = outcome.predicted == outcome.expected ? 1 : 0;
      points.push_back({outcome.probabilities[outcome.predicted], right, 1});
    }
    made.isotonic = fit_isotonic(points);
    const double edge = 1 / (2 * (static_cast<double>(points.size()) + 1));
    for (auto& [x, y] : made.isotonic) y = std::clamp(y, edge, 1 - edge);
    return made;
  }

  // For each of these rows, what a fit on the other folds makes of it.
  std::vector<Outcome> out_of_fold(const RowIndexes& which, const Bases& fitted, bool with_map) const {
    std::vector<Calibration> made;
    for (std::size_t fold = 0; fold < fold_count_; fold++) made.push_back(fit(which, fold, fitted, with_map));
    std::vector<Outcome> out;
    for (const std::size_t row : which) out.push_back(outcome_of(rows_[row], made[folds_[row]]));
    return out;
  }

  static bool is_right(const Outcome& outcome) { return outcome.predicted == outcome.expected; }

  bool may_be_isotonic(const std::vector<Outcome>& before) const {
    const auto right = static_cast<std::size_t>(std::count_if(before.begin(), before.end(), is_right));
    return before.size() >= options_.isotonic_rows_min && right >= kOfEachOutcomeMin &&
           before.size() - right >= kOfEachOutcomeMin;
  }

  // The rule that calibrate() states, on the same rows' outcomes without and with the map.
  static bool is_better(const std::vector<Outcome>& without, const std::vector<Outcome>& with_map) {
    const auto n = static_cast<double>(without.size());
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < without.size(); i++) {
      const double change = log_loss(std::span(&with_map[i], 1)) - log_loss(std::span(&without[i], 1));
      sum += change;
      squares += change * change;
    }
    const double mean = sum / n;
    const double error = std::sqrt(std::max(0.0, squares / n - mean * mean) / n);
    if (mean < -error) return true;
    return mean <= error && expected_calibration_error(with_map) < expected_calibration_error(without) - kEceGainMin;
  }

  std::span<const CalibrationRow> rows_;
  const CalibrateOptions& options_;
  CalibrateResult out_;
  std::size_t fold_count_ = 1;
  std::vector<std::size_t> folds_;  // of each row
};

}  // namespace

Result<CalibrateResult> calibrate(std::span<const CalibrationRow> rows, const CalibrateOptions& options) {
  if (options.folds < 2) return invalid_argument("folds", "folds must be at least 2");
  for (std::size_t i = 0; i < rows.size(); i++) {
    const std::string here = "rows[" + std::to_string(i) + "]";
    const std::vector<double>& scores = rows[i].scores;
    if (scores.empty()) return invalid_argument(here + ".scores", here + ".scores is empty");
    if (scores.size() > kOptionsMax) {
      return invalid_argument(here + ".scores",
                              here + ".scores has more than " + std::to_string(kOptionsMax) + " numbers");
    }
    if (!std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); })) {
      return invalid_argument(here + ".scores", here + ".scores has a number that is not finite");
    }
    if (rows[i].expected >= scores.size()) {
      return invalid_argument(here + ".expected", here + ".expected is " + std::to_string(rows[i].expected) +
                                                      " (counted from 0); the row has " +
                                                      std::to_string(scores.size()) + " options");
    }
  }
  return Calibrator(rows, options).run();
}

}  // namespace assay::teach
