#pragma once
// Labelled rows as choose_head() works on them. Inside of this room.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "teach/cross_validate.h"
#include "teach/features.h"
#include "teach/head.h"

namespace assay::teach {

// No shrinkage that is chosen by itself is below this: the system keeps a solution.
inline constexpr double kShrinkageMin = 1e-3;

Status check_rows(std::span<const TeachingRow> rows, std::size_t option_count);
bool has_zero_shot_log_probs(std::span<const TeachingRow> rows);

// Rows whose options are numbered without gaps. Refers to the rows; immutable.
class RowSet {
 public:
  explicit RowSet(std::span<const TeachingRow> rows);

  std::size_t row_count() const { return which_.size(); }
  std::size_t class_count() const { return options_.size(); }
  std::size_t cue_count() const;
  const std::vector<std::size_t>& options() const { return options_; }  // of each class, rising
  const std::vector<std::size_t>& classes() const { return classes_; }  // of each row
  // The rows that can be left out: not always_train, and not alone in their class.
  const std::vector<std::size_t>& tested() const { return tested_; }

  // A fitter for these rows on these cues joined; `how` takes how their numbers were prepared.
  HeadFitter fitter(const std::vector<std::size_t>& cues, bool normalise, Standardisation* how = nullptr) const;
  // Row `row` of row_count() * class_count() scores.
  std::span<const double> row_of(const std::vector<double>& scores, std::size_t row) const {
    return std::span(scores).subspan(row * class_count(), class_count());
  }
  // All rows, or about this many: all that are always_train, and of each option the same share of the others, at least
  // two.
  RowSet sample(std::size_t rows_max, std::uint64_t seed) const;

 private:
  RowSet(std::span<const TeachingRow> rows, std::vector<std::size_t> which);

  std::span<const TeachingRow> rows_;
  std::vector<std::size_t> which_;  // of rows_, rising
  std::vector<std::size_t> options_, classes_, tested_;
};

}  // namespace assay::teach
