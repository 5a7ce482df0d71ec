#pragma once
// What `assay eval` found, and the numbers that follow from it.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/decision.h"
#include "assay/evaluation.h"
#include "assay/value.h"
#include "cli/rows.h"

namespace assay::cli {

// One labelled row and what came of it.
struct EvalRow {
  std::string id;
  std::string file;    // the name without its folder
  std::string family;  // empty: none
  QuestionType type = QuestionType::kChoice;
  std::string question;
  std::string state;               // as text
  std::string expected;            // the option's id
  std::string answered;            // the option's id; empty when there is an error
  std::optional<Outcome> outcome;  // nothing when there is an error
  Error error;                     // only meaningful without an outcome
  Readout readout = Readout::kLetters;
  Layout layout = Layout::kStateFirst;
  Reliability reliability = Reliability::kUnknown;
  double ms = 0;  // wall time of the decision, refused ones included

  bool correct() const { return outcome && outcome->expected == outcome->predicted; }
};

// Numbers of a group of rows. Refused rows count as wrong in `accuracy`; Brier, calibration error and level error are
// over the answered rows, because a refusal has no probabilities.
struct EvalNumbers {
  std::size_t n = 0;
  std::size_t correct = 0;
  std::size_t errors = 0;
  double accuracy = 0;
  double brier = 0;
  double ece = 0;
  double p50_ms = 0;
  double p95_ms = 0;
  // Scale rows only: mean of |expected level - right level|, where the expected level is sum_k k * p_k.
  std::optional<double> level_error;
};

struct EvalResult {
  std::string model;          // its id
  std::string asked_readout;  // "auto", "letters", "text"
  std::string asked_layout;   // "auto", "state_first", "question_first"
  std::string option_order;   // "criteria", "labels", "reversed"
  std::vector<std::string> files;
  std::vector<EvalRow> rows;
};

EvalNumbers eval_numbers(const std::vector<const EvalRow*>& rows);

// Groups in order of first appearance; `name_of` gives the group's name.
template <typename NameOf>
std::vector<std::pair<std::string, std::vector<const EvalRow*>>> grouped(const EvalResult& result, NameOf name_of) {
  std::vector<std::pair<std::string, std::vector<const EvalRow*>>> out;
  for (const EvalRow& row : result.rows) {
    const std::string name = name_of(row);
    std::size_t i = 0;
    while (i < out.size() && out[i].first != name) ++i;
    if (i == out.size()) out.push_back({name, {}});
    out[i].second.push_back(&row);
  }
  return out;
}

using EvalGroups = std::vector<std::pair<std::string, std::vector<const EvalRow*>>>;
EvalGroups groups_by_family(const EvalResult& result);  // rows without a family are left out
EvalGroups groups_by_type(const EvalResult& result);
EvalGroups groups_by_file(const EvalResult& result);
std::vector<const EvalRow*> all_rows(const EvalResult& result);

// The readout that answered: "letters", "text", "head", "mixed", or "none" when no row was answered.
std::string readout_used(const std::vector<const EvalRow*>& rows);

// The layout that answered: "state_first", "question_first", "mixed", or "none" when no row was answered.
std::string layout_used(const std::vector<const EvalRow*>& rows);

// Cells of a table: n, correct, accuracy, Brier, calibration error, p50, p95, errors (empty when none).
std::vector<std::string> number_cells(const EvalNumbers& numbers);

// {n, correct, accuracy, ece, brier, p50_ms, p95_ms, readout, ..., families, types, files, errors}
Value eval_value(const EvalResult& result);
// Tables for people.
std::string eval_text(const EvalResult& result);

}  // namespace assay::cli
