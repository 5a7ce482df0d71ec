#include "service/learnt.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/sha256.h"
#include "teach/calibration_floor.h"
#include "teach/risk.h"

namespace assay::service {
namespace {

std::int64_t now_ns() { return SteadyClock().now_ns(); }

bool has_option(const Question& question, const std::string& id) {
  return std::any_of(question.options.begin(), question.options.end(),
                     [&](const Option& option) { return option.id == id; });
}

}  // namespace

Layout layout_used(const Decider& decider, Layout layout) {
  return layout == Layout::kAuto ? decider.report().layout : layout;
}

Result<Lesson> begin_lesson(const Decider& decider, const LearnOptions& options) {
  const ModelReport& model = decider.report();
  Lesson lesson;
  lesson.name = options.name;
  lesson.created = options.created;
  lesson.model_id = model.id;
  lesson.model_sha256 = model.sha256.empty() ? sha256_hex_of_file(model.path) : model.sha256;
  if (lesson.model_sha256.empty())
    return Error{ErrorCode::kIo, "'" + model.path + "' cannot be read for its hash.", "model"};
  lesson.layout = layout_name(layout_used(decider, options.layout));
  lesson.fallback = options.fallback;
  return lesson;
}

void count_labels(std::span<const LabelledQuestion> rows, const Question& question, Lesson& lesson) {
  lesson.labels = rows.size();
  lesson.labels_by_option.clear();
  for (const Option& option : question.options) {
    const auto count = std::count_if(rows.begin(), rows.end(), [&](const LabelledQuestion& row) {
      return row.question.options[row.expected].id == option.id;
    });
    lesson.labels_by_option.emplace_back(option.id, static_cast<std::size_t>(count));
  }
}

Status add_thresholds(std::span<const Outcome> outcomes, const Question* question, const LearnOptions& options,
                      LearnReport& report) {
  if (options.fallback && question != nullptr && !has_option(*question, *options.fallback))
    return invalid_argument("fallback", "\"" + *options.fallback + "\" is no option of the question.");
  if (!options.risk) return {};
  if (options.risk_by_option && question == nullptr)
    return invalid_argument("risk_by_option", "Thresholds by option need rows of one question.");
  teach::RiskSettings settings{.risk = *options.risk,
                               .level = options.level,
                               .by_option = options.risk_by_option,
                               .options = {},
                               .horizon = options.risk_horizon};
  if (question != nullptr) {
    for (const Option& option : question->options) settings.options.push_back(option.id);
  }
  std::vector<teach::RiskRow> rows;
  for (const Outcome& outcome : outcomes) {
    rows.push_back({.confidence = std::min(1.0, outcome.probabilities[outcome.predicted]),
                    .answered = question != nullptr ? outcome.predicted : 0,
                    .right = outcome.predicted == outcome.expected});
  }
  Result<std::vector<Threshold>> found = teach::find_thresholds(rows, settings);
  if (!found.ok()) return found.error();
  report.lesson.thresholds = std::move(found).value();
  return {};
}

void sum_up(std::uint64_t seed, LearnReport& report) {
  report.log_loss_before = mean_log_loss(report.before);
  report.log_loss_after = mean_log_loss(report.after);
  report.floor = teach::calibration_floor(report.after, seed);
}

double mean_log_loss(std::span<const Outcome> outcomes) {
  constexpr double kSmallest = 1e-300;
  double sum = 0;
  for (const Outcome& outcome : outcomes) sum -= std::log(std::max(kSmallest, outcome.probabilities[outcome.expected]));
  return outcomes.empty() ? 0 : sum / static_cast<double>(outcomes.size());
}

double mean_confidence(std::span<const Outcome> outcomes) {
  double sum = 0;
  for (const Outcome& outcome : outcomes) sum += outcome.probabilities[outcome.predicted];
  return outcomes.empty() ? 0 : sum / static_cast<double>(outcomes.size());
}

Stopwatch::Stopwatch() : began_ns_(now_ns()) {}
double Stopwatch::seconds() const { return static_cast<double>(now_ns() - began_ns_) / 1e9; }

}  // namespace assay::service
