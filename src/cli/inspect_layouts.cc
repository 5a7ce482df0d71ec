#include "cli/inspect_layouts.h"

#include "assay/built_in_check.h"
#include "assay/evaluation.h"
#include "cli/json_fields.h"
#include "cli/text_table.h"

namespace assay::cli {

Result<std::vector<LayoutScore>> score_layouts(Decider& decider) {
  std::vector<LayoutScore> scores;
  for (const Layout layout : {Layout::kStateFirst, Layout::kQuestionFirst}) {
    LayoutScore score{.layout = layout};
    std::vector<double> times;
    for (BuiltInRow& row : built_in_rows()) {
      row.request.layout = layout;
      const Result<DecisionReply> reply = decider.decide(row.request);
      if (!reply.ok()) return reply.error();
      score.rows++;
      score.right += reply->answers.front().best == row.expected ? 1 : 0;
      times.push_back(reply->queue_ms + reply->compute_ms);
    }
    score.p50_ms = percentile(std::move(times), 0.5);
    scores.push_back(score);
  }
  return scores;
}

Value layout_scores_value(const std::vector<LayoutScore>& scores) {
  Value::Array out;
  for (const LayoutScore& score : scores) {
    out.emplace_back(Value::Object{{"layout", Value(layout_name(score.layout))},
                                   {"right", int_value(score.right)},
                                   {"rows", int_value(score.rows)},
                                   {"p50_ms", Value(score.p50_ms)}});
  }
  return Value(std::move(out));
}

std::string layout_scores_text(const std::vector<LayoutScore>& scores) {
  if (scores.empty()) return "";
  std::vector<std::vector<std::string>> lines = {{"layout", "right", "rows", "p50 ms"}};
  for (const LayoutScore& score : scores) {
    lines.push_back(
        {layout_name(score.layout), std::to_string(score.right), std::to_string(score.rows), fixed(score.p50_ms, 1)});
  }
  return "\n" + text_table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight}, lines);
}

}  // namespace assay::cli
