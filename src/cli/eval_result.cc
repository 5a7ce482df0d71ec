#include "cli/eval_result.h"

#include <algorithm>
#include <cmath>

#include "cli/answer_json.h"
#include "cli/json_fields.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr std::size_t kErrorsShown = 20;

double level_distance(const Outcome& outcome) {
  double level = 0;
  for (std::size_t k = 0; k < outcome.probabilities.size(); ++k) {
    level += static_cast<double>(k) * outcome.probabilities[k];
  }
  return std::abs(level - static_cast<double>(outcome.expected));
}

Value::Object number_members(const EvalNumbers& numbers) {
  Value::Object out = {{"n", int_value(static_cast<std::int64_t>(numbers.n))},
                       {"correct", int_value(static_cast<std::int64_t>(numbers.correct))},
                       {"accuracy", Value(numbers.accuracy)},
                       {"ece", Value(numbers.ece)},
                       {"brier", Value(numbers.brier)},
                       {"p50_ms", Value(numbers.p50_ms)},
                       {"p95_ms", Value(numbers.p95_ms)},
                       {"refused", int_value(static_cast<std::int64_t>(numbers.errors))}};
  if (numbers.level_error) out.push_back({"level_error", Value(*numbers.level_error)});
  return out;
}

// The one name that all answered rows have, "mixed", or "none".
template <typename NameOf>
std::string name_used(const std::vector<const EvalRow*>& rows, NameOf name_of) {
  std::string out = "none";
  for (const EvalRow* row : rows) {
    if (!row->outcome) continue;
    const std::string name = name_of(*row);
    if (out != "none" && out != name) return "mixed";
    out = name;
  }
  return out;
}

Value groups_value(const EvalGroups& groups) {
  Value::Object out;
  for (const auto& [name, rows] : groups) {
    Value::Object members = number_members(eval_numbers(rows));
    members.push_back({"readout", Value(readout_used(rows))});
    out.push_back({name, Value(std::move(members))});
  }
  return Value(std::move(out));
}

std::vector<std::string> table_line(const std::string& name, const EvalNumbers& numbers, const std::string& readout) {
  std::vector<std::string> line = number_cells(numbers);
  line.insert(line.begin(), one_line(name, 32));
  line.push_back(numbers.level_error ? fixed(*numbers.level_error, 2) : "");
  line.push_back(readout);
  return line;
}

bool any_unreliable(const std::vector<const EvalRow*>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const EvalRow* row) { return row->reliability == Reliability::kUnreliable; });
}

std::string errors_text(const EvalResult& result) {
  std::string out;
  std::size_t shown = 0;
  for (const EvalRow& row : result.rows) {
    if (row.outcome) continue;
    if (shown == 0) out += "\nrefused rows\n";
    if (++shown <= kErrorsShown) out += "  " + one_line(row.id, 40) + ": " + one_line(row.error.message, 120) + "\n";
  }
  if (shown > kErrorsShown) out += "  and " + std::to_string(shown - kErrorsShown) + " more\n";
  return out;
}

}  // namespace

EvalNumbers eval_numbers(const std::vector<const EvalRow*>& rows) {
  EvalNumbers out;
  std::vector<Outcome> outcomes;
  std::vector<double> times_ms;
  double distance = 0;
  std::size_t levels = 0;
  for (const EvalRow* row : rows) {
    ++out.n;
    times_ms.push_back(row->ms);
    if (!row->outcome) {
      ++out.errors;
      continue;
    }
    if (row->correct()) ++out.correct;
    outcomes.push_back(*row->outcome);
    if (row->type != QuestionType::kScale) continue;
    distance += level_distance(*row->outcome);
    ++levels;
  }
  if (out.n > 0) out.accuracy = static_cast<double>(out.correct) / static_cast<double>(out.n);
  out.brier = brier_score(outcomes);
  out.ece = expected_calibration_error(outcomes);
  out.p50_ms = percentile(times_ms, 0.5);
  out.p95_ms = percentile(times_ms, 0.95);
  if (levels > 0) out.level_error = distance / static_cast<double>(levels);
  return out;
}

EvalGroups groups_by_family(const EvalResult& result) {
  EvalGroups groups = grouped(result, [](const EvalRow& row) { return row.family; });
  std::erase_if(groups, [](const auto& group) { return group.first.empty(); });
  return groups;
}

EvalGroups groups_by_type(const EvalResult& result) {
  return grouped(result, [](const EvalRow& row) { return std::string(question_type_name(row.type)); });
}

EvalGroups groups_by_file(const EvalResult& result) {
  return grouped(result, [](const EvalRow& row) { return row.file; });
}

std::vector<const EvalRow*> all_rows(const EvalResult& result) {
  std::vector<const EvalRow*> out;
  for (const EvalRow& row : result.rows) out.push_back(&row);
  return out;
}

std::string readout_used(const std::vector<const EvalRow*>& rows) {
  return name_used(rows, [](const EvalRow& row) { return readout_name(row.readout); });
}

std::string layout_used(const std::vector<const EvalRow*>& rows) {
  return name_used(rows, [](const EvalRow& row) { return layout_name(row.layout); });
}

std::vector<std::string> number_cells(const EvalNumbers& numbers) {
  return {std::to_string(numbers.n), std::to_string(numbers.correct),
          percent(numbers.accuracy), fixed(numbers.brier, 3),
          fixed(numbers.ece, 3),     fixed(numbers.p50_ms, 1),
          fixed(numbers.p95_ms, 1),  numbers.errors == 0 ? "" : std::to_string(numbers.errors)};
}

Value eval_value(const EvalResult& result) {
  const std::vector<const EvalRow*> rows = all_rows(result);
  Value::Object out = number_members(eval_numbers(rows));
  out.push_back({"readout", Value(readout_used(rows))});
  out.push_back({"asked_readout", Value(result.asked_readout)});
  out.push_back({"layout", Value(layout_used(rows))});
  out.push_back({"asked_layout", Value(result.asked_layout)});
  out.push_back({"option_order", Value(result.option_order)});
  out.push_back({"model", Value(result.model)});
  out.push_back({"families", groups_value(groups_by_family(result))});
  out.push_back({"types", groups_value(groups_by_type(result))});
  out.push_back({"files", groups_value(groups_by_file(result))});
  Value::Array errors;
  for (const EvalRow* row : rows) {
    if (row->outcome) continue;
    errors.push_back(
        Value(Value::Object{{"id", Value(row->id)}, {"file", Value(row->file)}, {"error", error_value(row->error)}}));
  }
  out.push_back({"errors", Value(std::move(errors))});
  return Value(std::move(out));
}

std::string eval_text(const EvalResult& result) {
  const std::vector<const EvalRow*> rows = all_rows(result);
  std::vector<std::vector<std::string>> table = {
      {"", "n", "right", "accuracy", "Brier", "ECE", "p50 ms", "p95 ms", "refused", "level err.", "readout"}};
  table.push_back(table_line("all", eval_numbers(rows), readout_used(rows)));
  const auto add = [&table](const std::string& title, const EvalGroups& groups) {
    if (groups.size() < 2) return;
    table.push_back({title});
    for (const auto& [name, group] : groups) {
      table.push_back(table_line("  " + name, eval_numbers(group), readout_used(group)));
    }
  };
  add("by file", groups_by_file(result));
  add("by type", groups_by_type(result));
  add("by family", groups_by_family(result));
  std::vector<Align> columns(11, Align::kRight);
  columns.front() = columns.back() = Align::kLeft;
  std::string out = text_table(columns, table) + errors_text(result);
  for (const auto& [name, group] : groups_by_type(result)) {
    if (any_unreliable(group)) {
      out += "warning: this model did not beat chance on the built-in " + name + " check\n";
    }
  }
  return out;
}

}  // namespace assay::cli
