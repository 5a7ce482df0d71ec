#include "teach/teaching_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/assert.h"
#include "teach/folds.h"

namespace assay::teach {
namespace {

Status check_row(const TeachingRow& row, const TeachingRow& first, std::size_t option_count, const std::string& here) {
  if (row.option >= option_count) {
    return invalid_argument(here + ".option", here + ".option is " + std::to_string(row.option) +
                                                  " (counted from 0); the question has " +
                                                  std::to_string(option_count) + " options");
  }
  const std::string cues = here + ".by_cue";
  if (row.by_cue.size() != first.by_cue.size() || row.by_cue.empty()) {
    return invalid_argument(
        cues, cues + " has " + std::to_string(row.by_cue.size()) + " cues; all rows have the same, at least one");
  }
  for (std::size_t c = 0; c < row.by_cue.size(); c++) {
    const std::string cue = cues + "[" + std::to_string(c) + "]";
    if (row.by_cue[c].size() != first.by_cue[c].size() || row.by_cue[c].empty()) {
      return invalid_argument(cue, cue + " has " + std::to_string(row.by_cue[c].size()) +
                                       " numbers; the first row has " + std::to_string(first.by_cue[c].size()));
    }
    if (!std::all_of(row.by_cue[c].begin(), row.by_cue[c].end(), [](float value) { return std::isfinite(value); })) {
      return invalid_argument(cue, cue + " has a number that is not finite");
    }
  }
  return {};
}

Status check_zero_shot(const TeachingRow& row, bool expected, std::size_t option_count, const std::string& here) {
  const std::string field = here + ".zero_shot_log_probs";
  if (row.zero_shot_log_probs.empty() && (row.always_train || !expected)) return {};
  if (row.zero_shot_log_probs.size() != option_count) {
    return invalid_argument(field, field + " has " + std::to_string(row.zero_shot_log_probs.size()) +
                                       " numbers; it takes one for each option, " + std::to_string(option_count) +
                                       ", or none in any row");
  }
  for (const double value : row.zero_shot_log_probs) {
    if (std::isnan(value) || value > 1e-6) {
      return invalid_argument(field, field + " takes logarithms of probabilities");
    }
  }
  return {};
}

}  // namespace

bool has_zero_shot_log_probs(std::span<const TeachingRow> rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const TeachingRow& row) { return !row.always_train && !row.zero_shot_log_probs.empty(); });
}

Status check_rows(std::span<const TeachingRow> rows, std::size_t option_count) {
  const bool has_zero_shot = has_zero_shot_log_probs(rows);
  for (std::size_t i = 0; i < rows.size(); i++) {
    const std::string here = "rows[" + std::to_string(i) + "]";
    if (Status status = check_row(rows[i], rows[0], option_count, here); !status) return status;
    if (Status status = check_zero_shot(rows[i], has_zero_shot, option_count, here); !status) return status;
  }
  const bool several =
      std::any_of(rows.begin(), rows.end(), [&](const TeachingRow& row) { return row.option != rows[0].option; });
  if (!several) {
    return invalid_argument("rows", rows.empty()
                                        ? "there are no labels; a head needs labels for at least two options"
                                        : "all labels are for one option; a head needs labels for at least two");
  }
  return {};
}

RowSet::RowSet(std::span<const TeachingRow> rows, std::vector<std::size_t> which)
    : rows_(rows), which_(std::move(which)) {
  for (const std::size_t row : which_) options_.push_back(rows_[row].option);
  std::sort(options_.begin(), options_.end());
  options_.erase(std::unique(options_.begin(), options_.end()), options_.end());
  for (const std::size_t row : which_) {
    const auto place = std::lower_bound(options_.begin(), options_.end(), rows_[row].option);
    classes_.push_back(static_cast<std::size_t>(place - options_.begin()));
  }
  const auto by_class = rows_by_class(classes_);
  for (std::size_t row = 0; row < which_.size(); row++) {
    if (!rows_[which_[row]].always_train && by_class[classes_[row]].size() > 1) tested_.push_back(row);
  }
}

namespace {

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

RowSet::RowSet(std::span<const TeachingRow> rows) : RowSet(rows, all_of(rows.size())) {}

std::size_t RowSet::cue_count() const { return rows_.empty() ? 0 : rows_[0].by_cue.size(); }

HeadFitter RowSet::fitter(const std::vector<std::size_t>& cues, bool normalise, Standardisation* how) const {
  std::size_t width = 0;
  for (const std::size_t cue : cues) width += rows_[0].by_cue[cue].size();
  std::vector<float> x;
  x.reserve(width * which_.size());
  for (const std::size_t row : which_) {
    for (const std::size_t cue : cues) {
      x.insert(x.end(), rows_[row].by_cue[cue].begin(), rows_[row].by_cue[cue].end());
    }
  }
  const Standardisation made = standardisation(x, width, normalise);
  if (how != nullptr) *how = made;
  return HeadFitter(prepared(x, made), width, classes_);
}

RowSet RowSet::sample(std::size_t rows_max, std::uint64_t seed) const {
  std::vector<std::size_t> which;
  if (which_.size() <= rows_max) return RowSet(rows_, which_);
  Random random(seed);
  const double share = static_cast<double>(rows_max) / static_cast<double>(which_.size());
  for (const std::vector<std::size_t>& rows : rows_by_class(classes_)) {
    std::vector<std::size_t> drawn;
    for (const std::size_t row : rows) {
      (rows_[which_[row]].always_train ? which : drawn).push_back(which_[row]);
    }
    random.shuffle(drawn);
    const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(drawn.size())));
    drawn.resize(std::min(drawn.size(), std::max<std::size_t>(2, wanted)));
    which.insert(which.end(), drawn.begin(), drawn.end());
  }
  std::sort(which.begin(), which.end());
  return RowSet(rows_, std::move(which));
}

}  // namespace assay::teach
