#include "service/lesson_views.h"

#include <utility>

namespace assay::service {
namespace {

Value count_value(std::uint64_t count) { return Value(Value::Integer{std::to_string(count)}); }

// Shares that were not measured are -1 in a lesson, null in JSON.
Value measured(double share) {
  if (share < 0) return Value();
  return Value(share);
}

Value or_null(const std::optional<double>& number) {
  if (!number) return Value();
  return Value(*number);
}

Value text_or_null(const std::string& text) {
  if (text.empty()) return Value();
  return Value(text);
}

Value version_or_null(const std::optional<std::int32_t>& version) {
  if (!version) return Value();
  return count_value(static_cast<std::uint64_t>(*version));
}

Value share_of(double part, std::uint64_t of) {
  if (of == 0) return Value();
  return Value(part / static_cast<double>(of));
}

Value threshold_view(const Threshold& threshold) {
  return Value(Value::Object{{"option", text_or_null(threshold.option)},
                             {"risk", Value(threshold.risk)},
                             {"level", Value(threshold.level)},
                             {"horizon", count_value(threshold.horizon)},
                             {"value", or_null(threshold.value)},
                             {"coverage", Value(threshold.coverage)},
                             {"error", Value(threshold.error)},
                             {"rows", count_value(threshold.rows)},
                             {"rows_missing", count_value(threshold.rows_missing)}});
}

Value::Object version_members(const ShelvedLesson& shelved) {
  const Lesson& lesson = shelved.lesson;
  Value::Array thresholds;
  for (const Threshold& threshold : lesson.thresholds) thresholds.push_back(threshold_view(threshold));
  return {
      {"name", Value(lesson.name)},
      {"version", count_value(static_cast<std::uint64_t>(lesson.version))},
      {"sha256", Value(shelved.sha256)},
      {"created", Value(lesson.created)},
      {"taught", Value(lesson.head.has_value())},
      {"question", text_or_null(lesson.question ? lesson.question->text : "")},
      {"labels", count_value(lesson.labels)},
      {"calibrated_at_version",
       count_value(static_cast<std::uint64_t>(lesson.growth ? lesson.growth->calibrated_at_version : lesson.version))},
      {"accuracy", measured(lesson.accuracy)},
      {"accuracy_zero_shot", measured(lesson.accuracy_zero_shot)},
      {"thresholds", Value(std::move(thresholds))},
      {"fallback", text_or_null(lesson.fallback.value_or(""))},
      {"note", Value(lesson.note)},
      {"problem", text_or_null(shelved.problem)}};
}

}  // namespace

Value version_view(const ShelvedLesson& lesson) { return Value(version_members(lesson)); }

Value lesson_view(const LessonVersions& lesson) {
  Value::Object out = version_members(*lesson.active_lesson());
  Value::Array versions;
  for (const auto& [version, unused] : lesson.versions)
    versions.push_back(count_value(static_cast<std::uint64_t>(version)));
  out.emplace_back("versions", Value(std::move(versions)));
  out.emplace_back("active", count_value(static_cast<std::uint64_t>(lesson.active)));
  out.emplace_back("shadow", version_or_null(lesson.shadow));
  return Value(std::move(out));
}

Value shelf_view(const LessonShelf& shelf) {
  Value::Array lessons;
  for (const auto& [unused, lesson] : shelf.lessons) lessons.push_back(lesson_view(lesson));
  Value::Array problems;
  for (const std::string& problem : shelf.problems) problems.push_back(Value(problem));
  return Value(Value::Object{{"lessons", Value(std::move(lessons))}, {"problems", Value(std::move(problems))}});
}

namespace {

Value drift_view(const std::optional<teach::DriftState>& test) {
  if (!test) return Value();
  return Value(Value::Object{{"alarm", Value(test->alarm)},
                             {"expected_mean", Value(test->settings.expected_mean)},
                             {"tolerance", Value(test->settings.tolerance)},
                             {"false_alarm_rate", Value(test->settings.false_alarm_rate)},
                             {"count", count_value(test->count)},
                             {"mean", Value(test->mean)},
                             {"log_evidence", Value(test->log_evidence)}});
}

Value shadow_view(const ShadowStanding& shadow) {
  return Value(Value::Object{{"version", count_value(static_cast<std::uint64_t>(shadow.version))},
                             {"compared", count_value(shadow.compared)},
                             {"agreed", count_value(shadow.agreed)},
                             {"agreement", share_of(static_cast<double>(shadow.agreed), shadow.compared)},
                             {"labelled", count_value(shadow.labels.labelled)},
                             {"right", count_value(shadow.labels.shadow_right)},
                             {"active_right", count_value(shadow.labels.active_right)},
                             {"right_alone", count_value(shadow.labels.shadow_alone)},
                             {"active_right_alone", count_value(shadow.labels.active_alone)},
                             {"log_evidence", Value(shadow.log_evidence)},
                             {"rule", Value(shadow.rule)},
                             {"rule_met", Value(shadow.met)}});
}

}  // namespace

Value health_view(const LessonVersions& lesson, const LessonWatch& watch, const std::optional<ShadowStanding>& shadow) {
  const ShelvedLesson& active = *lesson.active_lesson();
  const WatchCounts counts = watch.counts(active);
  Value::Object out = {{"name", Value(active.lesson.name)},
                       {"version", count_value(static_cast<std::uint64_t>(lesson.active))},
                       {"answers", count_value(counts.answers)},
                       {"acted", count_value(counts.acted)},
                       {"escalated", count_value(counts.escalated)},
                       {"mean_confidence", share_of(counts.confidence_sum, counts.answers)},
                       {"labelled_mean_confidence", measured(active.lesson.mean_confidence)},
                       {"labels", count_value(active.lesson.labels)}};
  const WatchDrift drift = watch.drift(active);
  out.emplace_back("drift", Value(Value::Object{{"alarm", Value(drift.alarm())},
                                                {"confidence", drift_view(drift.confidence)},
                                                {"acted", drift_view(drift.action)}}));
  out.emplace_back("shadow", shadow ? shadow_view(*shadow) : Value());
  return Value(std::move(out));
}

}  // namespace assay::service
