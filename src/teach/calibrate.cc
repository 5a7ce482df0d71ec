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
#include "teach/temperature.h"

// Which rows share a fit: those of one type and bucket of option counts, if there are enough; and all of a type.
namespace assay::teach {
namespace {

using RowIndexes = std::vector<std::size_t>;

constexpr std::size_t kOptionsMax = 1024;
constexpr std::array<std::pair<std::size_t, std::size_t>, 5> kBuckets = {
    {{2, 2}, {3, 5}, {6, 15}, {16, 63}, {64, kOptionsMax}}};
constexpr std::size_t kOfEachOutcomeMin = 10;  // right answers, and wrong ones, that an isotonic map needs
constexpr double kEceGainMin = 0.01;

class Calibrator {
 public:
  Calibrator(std::span<const CalibrationRow> rows, const CalibrateOptions& options) : rows_(rows), options_(options) {
    for (const CalibrationRow& row : rows_) out_.before.push_back(outcome_of(row, Calibration{}));
    out_.after = out_.before;
  }

  CalibrateResult run() && {
    for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) fit_type(type);
    return std::move(out_);
  }

 private:
  static Outcome outcome_of(const CalibrationRow& row, const Calibration& calibration) {
    auto probabilities = calibrated(calibration, row.scores);
    ASSAY_ASSERT(probabilities.ok());  // the rows were checked
    const std::size_t predicted = decision::best_option(*probabilities);
    return {std::move(*probabilities), row.expected, predicted};
  }

  void fit_type(QuestionType type) {
    RowIndexes of_type;
    std::array<RowIndexes, kBuckets.size()> of_bucket;
    for (std::size_t row = 0; row < rows_.size(); row++) {
      const std::size_t option_count = rows_[row].scores.size();
      if (rows_[row].type != type || option_count < 2) continue;
      of_type.push_back(row);
      for (std::size_t b = 0; b < kBuckets.size(); b++) {
        if (option_count >= kBuckets[b].first && option_count <= kBuckets[b].second) of_bucket[b].push_back(row);
      }
    }
    if (of_type.empty()) return;
    add(type, {2, kOptionsMax}, of_type);
    for (std::size_t b = 0; b < kBuckets.size(); b++) {
      const bool enough = of_bucket[b].size() >= options_.bucket_rows_min && !of_bucket[b].empty();
      if (enough && of_bucket[b].size() < of_type.size()) add(type, kBuckets[b], of_bucket[b]);
    }
  }

  // Fits, measures out of fold, and overwrites what a wider calibration said about these rows.
  void add(QuestionType type, std::pair<std::size_t, std::size_t> bucket, const RowIndexes& which) {
    const std::vector<Outcome> before = outcomes(which, out_.before);
    std::vector<Outcome> after = out_of_fold(which, false);
    Calibration made = fit(which, false);
    if (may_be_isotonic(before)) {
      std::vector<Outcome> with_map = out_of_fold(which, true);
      if (is_better(after, with_map)) {
        made = fit(which, true);
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

  Calibration fit(const RowIndexes& which, bool with_map) const {
    std::vector<ScoredLabel> labels;
    for (const std::size_t row : which) labels.push_back({rows_[row].scores, rows_[row].expected});
    Calibration made;
    made.temperature = fit_temperature(labels);
    if (!with_map) return made;
    std::vector<WeightedPoint> points;
    for (const std::size_t row : which) {
      const Outcome outcome = outcome_of(rows_[row], made);
      const double right = outcome.predicted == outcome.expected ? 1 : 0;
      points.push_back({outcome.probabilities[outcome.predicted], right, 1});
    }
    made.isotonic = fit_isotonic(points);
    const double edge = 1 / (2 * (static_cast<double>(which.size()) + 1));
    for (auto& [x, y] : made.isotonic) y = std::clamp(y, edge, 1 - edge);
    return made;
  }

  // For each of these rows, what a fit on the other folds makes of it.
  std::vector<Outcome> out_of_fold(const RowIndexes& which, bool with_map) const {
    // Right and wrong answers are spread over the folds alike.
    RowIndexes classes;
    for (const std::size_t row : which) classes.push_back(is_right(out_.before[row]) ? 1 : 0);
    const std::size_t fold_count = std::max<std::size_t>(1, std::min(options_.folds, which.size()));
    const auto folds = stratified_folds(classes, fold_count, options_.seed);
    std::vector<Outcome> out(which.size());
    for (std::size_t fold = 0; fold < fold_count; fold++) {
      RowIndexes others;
      for (std::size_t i = 0; i < which.size(); i++) {
        if (folds[i] != fold) others.push_back(which[i]);
      }
      const Calibration made = fit(others, with_map);
      for (std::size_t i = 0; i < which.size(); i++) {
        if (folds[i] == fold) out[i] = outcome_of(rows_[which[i]], made);
      }
    }
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
