#include "teach/calibrate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/assert.h"
#include "decision/readout.h"
#include "teach/apply.h"
#include "teach/folds.h"
#include "teach/isotonic.h"
#include "teach/sureness.h"
#include "teach/temperature.h"

// Which rows share a fit: all; those of one type; of a type and a bucket of option counts, if there are enough; and of
// a type and one option count, if there are enough. Each is held at the fit of the wider one.
namespace assay::teach {
namespace {

using RowIndexes = std::vector<std::size_t>;

constexpr std::size_t kOptionsMax = 1024;
// Rows with so many options.
struct Counts {
  std::size_t min = 2, max = kOptionsMax;
};
constexpr Counts kBuckets[] = {{2, 2}, {3, 5}, {6, 15}, {16, 63}, {64, kOptionsMax}};

constexpr std::size_t kOfEachOutcomeMin = 10;  // right answers, and wrong ones, that an isotonic map needs
constexpr double kEceGainMin = 0.01;
// So many rows' worth of belief that a type's temperature is that of all rows, and a bucket's that of its type.
constexpr double kHeldRows = 10;

// A temperature, and how far evidence at it is to be believed.
struct Base {
  double temperature = 1;
  Sureness sureness;
};
// One for each fold, fitted without its rows, and one fitted with all rows at the end.
using Bases = std::vector<Base>;

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
      if (option_count(row) > 1) all.push_back(row);
    }
    all_rows_ = all.size();
    Bases root(fold_count_ + 1);
    fit_temperatures(all, kTemperaturePrior, root);
    fit_surenesses(all, root);
    for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) {
      RowIndexes of_type;
      for (const std::size_t row : all) {
        if (rows_[row].type == type) of_type.push_back(row);
      }
      if (!of_type.empty()) fit_type(type, of_type, root);
    }
    return std::move(out_);
  }

 private:
  static Outcome outcome_of(const CalibrationRow& row, const Calibration& calibration) {
    auto probabilities = calibrated(calibration, row.scores);
    ASSAY_ASSERT(probabilities.ok());  // the rows were checked
    const std::size_t predicted = decision::best_option(*probabilities);
    return {std::move(*probabilities), row.expected, predicted};
  }

  std::size_t option_count(std::size_t row) const { return rows_[row].scores.size(); }

  // The right and the wrong answers of each type and option count are spread over the folds alike.
  void deal_folds() {
    RowIndexes classes;
    for (std::size_t row = 0; row < rows_.size(); row++) {
      const std::size_t kind = static_cast<std::size_t>(rows_[row].type) * (kOptionsMax + 1) + option_count(row);
      classes.push_back(2 * kind + (is_right(out_.before[row]) ? 1 : 0));
    }
    fold_count_ = std::max<std::size_t>(1, std::min(options_.folds, rows_.size()));
    folds_ = stratified_folds(classes, fold_count_, options_.seed);
  }

  void fit_type(QuestionType type, const RowIndexes& of_type, const Bases& root) {
    Bases bases = root;
    if (of_type.size() < all_rows_) {
      fit_temperatures(of_type, kHeldRows, bases);
      fit_surenesses(of_type, bases);
    }
    add(type, {}, of_type, bases);
    for (const Counts bucket : kBuckets) {
      const RowIndexes of_bucket = with(of_type, bucket);
      Bases narrower = bases;
      const bool has_own = of_bucket.size() >= options_.bucket_rows_min && of_bucket.size() < of_type.size();
      if (has_own) {
        fit_temperatures(of_bucket, kHeldRows, narrower);
        fit_surenesses(of_bucket, narrower);
        add(type, bucket, of_bucket, narrower);
      }
      fit_counts(type, of_bucket, has_own ? of_bucket.size() : of_type.size(), narrower);
    }
  }

  // One for each option count of these rows that has enough of them, and is not all of a wider group of `wider` rows.
  void fit_counts(QuestionType type, const RowIndexes& which, std::size_t wider, const Bases& bases) {
    std::set<std::size_t> counts;
    for (const std::size_t row : which) counts.insert(option_count(row));
    for (const std::size_t count : counts) {
      const RowIndexes of_count = with(which, {count, count});
      if (of_count.size() < options_.count_rows_min || of_count.size() == wider) continue;
      Bases narrower = bases;
      fit_surenesses(of_count, narrower);
      add(type, {count, count}, of_count, narrower);
    }
  }

  RowIndexes with(const RowIndexes& which, Counts counts) const {
    RowIndexes out;
    for (const std::size_t row : which) {
      if (option_count(row) >= counts.min && option_count(row) <= counts.max) out.push_back(row);
    }
    return out;
  }

  // Each fold's temperature from these rows without the fold's, held at the one that it has.
  void fit_temperatures(const RowIndexes& which, double prior, Bases& bases) const {
    for (std::size_t fold = 0; fold < bases.size(); fold++) {
      std::vector<ScoredLabel> labels;
      for (const std::size_t row : which) {
        if (folds_[row] != fold) labels.push_back({rows_[row].scores, rows_[row].expected});
      }
      const double centre = std::clamp(bases[fold].temperature, kTemperatureMin, kTemperatureMax);
      bases[fold].temperature = fit_temperature(labels, prior, centre);
    }
  }

  // The same with slope and shift, at the temperature that there is.
  void fit_surenesses(const RowIndexes& which, Bases& bases) const {
    for (std::size_t fold = 0; fold < bases.size(); fold++) {
      std::vector<SurenessRow> sure;
      for (const std::size_t row : which) {
        if (folds_[row] == fold) continue;
        std::vector<double> scores = rows_[row].scores;
        for (double& score : scores) score /= bases[fold].temperature;
        sure.push_back({evidence_of(scores), scores.size(), is_right(out_.before[row])});
      }
      bases[fold].sureness = fit_sureness(sure, {.parent = bases[fold].sureness});
    }
  }

  // Measures out of fold, and overwrites what a wider calibration said about these rows.
  void add(QuestionType type, Counts counts, const RowIndexes& which, const Bases& fitted) {
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
    made.options_min = counts.min;
    made.options_max = counts.max;
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
  std::size_t all_rows_ = 0;  // with more than one option
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
