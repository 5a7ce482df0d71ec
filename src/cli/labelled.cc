#include "cli/labelled.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr std::size_t kMatrixIdsMax = 8;
constexpr std::size_t kConfusionsMax = 10;
constexpr std::size_t kIdWidth = 20;

using Confusions = std::map<std::pair<std::string, std::string>, std::size_t>;  // (expected, predicted) to rows

std::vector<std::string> ids_in_order(const std::vector<Labelled>& rows) {
  std::vector<std::string> ids;
  for (const Labelled& row : rows) {
    for (const std::string* id : {&row.expected, &row.predicted}) {
      if (std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
      if (ids.size() > kMatrixIdsMax) return ids;
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::string matrix(const Confusions& counts, const std::vector<std::string>& ids) {
  std::vector<Align> columns = {Align::kLeft};
  std::vector<std::vector<std::string>> table(1, {"expected \\ answered"});
  for (const std::string& id : ids) {
    columns.push_back(Align::kRight);
    table[0].push_back(one_line(id, kIdWidth));
  }
  for (const std::string& expected : ids) {
    std::vector<std::string> line = {one_line(expected, kIdWidth)};
    for (const std::string& predicted : ids) {
      const auto found = counts.find({expected, predicted});
      line.push_back(found == counts.end() ? "." : std::to_string(found->second));
    }
    table.push_back(std::move(line));
  }
  return text_table(columns, table);
}

std::string worst_confusions(const Confusions& counts) {
  std::vector<std::pair<std::size_t, std::pair<std::string, std::string>>> wrong;
  for (const auto& [pair, rows] : counts) {
    if (pair.first != pair.second) wrong.push_back({rows, pair});
  }
  std::stable_sort(wrong.begin(), wrong.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (wrong.size() > kConfusionsMax) wrong.resize(kConfusionsMax);
  std::vector<std::vector<std::string>> table;
  for (const auto& [rows, pair] : wrong) {
    table.push_back(
        {std::to_string(rows) + " x", one_line(pair.first, kIdWidth), "answered " + one_line(pair.second, kIdWidth)});
  }
  return text_table({Align::kRight, Align::kLeft, Align::kLeft}, table);
}

}  // namespace

std::optional<Labelled> labelled(const Row& row, const Answer& answer) {
  if (!row.expected) return std::nullopt;
  Labelled out;
  for (const OptionAnswer& option : answer.options) out.outcome.probabilities.push_back(option.probability);
  out.outcome.expected = *row.expected;
  out.outcome.predicted = answer.best;
  out.expected = row.question.options[*row.expected].id;
  out.predicted = row.question.options[answer.best].id;
  return out;
}

std::vector<Outcome> outcomes_of(const std::vector<Labelled>& rows) {
  std::vector<Outcome> out;
  for (const Labelled& row : rows) out.push_back(row.outcome);
  return out;
}

std::string labelled_summary(const std::vector<Labelled>& rows) {
  if (rows.empty()) return "";
  const std::vector<Outcome> outcomes = outcomes_of(rows);
  Confusions counts;
  std::size_t right = 0;
  for (const Labelled& row : rows) {
    ++counts[{row.expected, row.predicted}];
    if (row.outcome.expected == row.outcome.predicted) ++right;
  }
  std::string out = "accuracy " + percent(accuracy(outcomes)) + " (" + std::to_string(right) + " of " +
                    std::to_string(rows.size()) + "), expected calibration error " +
                    fixed(expected_calibration_error(outcomes), 3) + "\n";
  const std::vector<std::string> ids = ids_in_order(rows);
  return out + (ids.size() <= kMatrixIdsMax ? matrix(counts, ids) : worst_confusions(counts));
}

}  // namespace assay::cli
