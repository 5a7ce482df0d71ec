#include "cli/eval_layouts.h"

#include <utility>
#include <vector>

#include "base/assert.h"
#include "cli/json_fields.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

Value size_value(std::size_t size) { return int_value(static_cast<std::int64_t>(size)); }

std::vector<std::string> line_of(const std::string& name, const EvalNumbers& numbers, const std::string& readout) {
  std::vector<std::string> line = number_cells(numbers);
  line.insert(line.begin(), name);
  line.push_back(readout);
  return line;
}

// "+1.5", "-0.200", "0.0": a difference is never without its sign, unless it is none.
std::string with_sign(std::string number) {
  const bool zero = number.find_first_of("123456789") == std::string::npos;
  if (zero && number.front() == '-') number.erase(0, 1);
  return zero || number.front() == '-' ? number : "+" + number;
}

std::vector<std::string> difference_line(const EvalNumbers& from, const EvalNumbers& to) {
  return {"difference",
          "",
          with_sign(fixed(static_cast<double>(to.correct) - static_cast<double>(from.correct), 0)),
          with_sign(percent(to.accuracy - from.accuracy)),
          with_sign(fixed(to.brier - from.brier, 3)),
          with_sign(fixed(to.ece - from.ece, 3)),
          with_sign(fixed(to.p50_ms - from.p50_ms, 1)),
          with_sign(fixed(to.p95_ms - from.p95_ms, 1))};
}

}  // namespace

LayoutChanges layout_changes(const LayoutResults& results) {
  ASSAY_ASSERT(results.state_first.rows.size() == results.question_first.rows.size());
  LayoutChanges out;
  for (std::size_t i = 0; i < results.state_first.rows.size(); ++i) {
    const EvalRow& state_first = results.state_first.rows[i];
    const EvalRow& question_first = results.question_first.rows[i];
    if (state_first.answered == question_first.answered) continue;
    ++out.other_answer;
    if (state_first.correct()) ++out.only_state_first_right;
    if (question_first.correct()) ++out.only_question_first_right;
  }
  return out;
}

Value layouts_value(const LayoutResults& results) {
  const LayoutChanges changes = layout_changes(results);
  return Value(Value::Object{{"state_first", eval_value(results.state_first)},
                             {"question_first", eval_value(results.question_first)},
                             {"other_answer", size_value(changes.other_answer)},
                             {"only_state_first_right", size_value(changes.only_state_first_right)},
                             {"only_question_first_right", size_value(changes.only_question_first_right)}});
}

std::string layouts_text(const LayoutResults& results) {
  const std::vector<const EvalRow*> state_first = all_rows(results.state_first);
  const std::vector<const EvalRow*> question_first = all_rows(results.question_first);
  const EvalNumbers from = eval_numbers(state_first);
  const EvalNumbers to = eval_numbers(question_first);
  std::vector<Align> columns(10, Align::kRight);
  columns.front() = columns.back() = Align::kLeft;
  const LayoutChanges changes = layout_changes(results);
  return text_table(columns,
                    {{"layout", "n", "right", "accuracy", "Brier", "ECE", "p50 ms", "p95 ms", "refused", "readout"},
                     line_of("state_first", from, readout_used(state_first)),
                     line_of("question_first", to, readout_used(question_first)),
                     difference_line(from, to)}) +
         std::to_string(changes.other_answer) + " rows got another answer; " +
         std::to_string(changes.only_state_first_right) + " are right state first only, " +
         std::to_string(changes.only_question_first_right) + " question first only\n";
}

}  // namespace assay::cli
