#include "service/lesson_watch.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"

namespace assay::service {
namespace {

// What was measured on n labelled rows may be off by two standard errors of a number in [0, 1] before it counts.
double tolerance_of(std::size_t rows) {
  return std::min(1.0, 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(1, rows))));
}

// Half of the rate for each of the two tests, so that both together keep it.
std::optional<teach::DriftTest> test_of(double expected, std::size_t rows, double false_alarm_rate) {
  Result<teach::DriftTest> test = teach::DriftTest::open(
      {.expected_mean = expected, .tolerance = tolerance_of(rows), .false_alarm_rate = false_alarm_rate / 2});
  if (!test.ok()) return std::nullopt;
  return *test;
}

}  // namespace

LessonWatch::Watched& LessonWatch::watched(const ShelvedLesson& shelved) {
  const auto [at, is_new] = by_file_.try_emplace(shelved.sha256);
  if (!is_new) return at->second;
  const Lesson& lesson = shelved.lesson;
  if (lesson.mean_confidence >= 0)
    at->second.confidence = test_of(lesson.mean_confidence, lesson.labels, false_alarm_rate_);
  if (lesson.thresholds.size() == 1 && lesson.thresholds.front().value)
    at->second.action = test_of(lesson.thresholds.front().coverage, lesson.thresholds.front().rows, false_alarm_rate_);
  return at->second;
}

void LessonWatch::count(const ShelvedLesson& lesson, const Answer& answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Watched& now = watched(lesson);
  const bool drifted = (now.confidence && now.confidence->alarm()) || (now.action && now.action->alarm());
  now.counts.answers++;
  if (answer.lesson.action == Action::kAct) now.counts.acted++;
  if (answer.lesson.action == Action::kEscalate) now.counts.escalated++;
  if (answer.abstained) now.counts.abstained++;
  const double confidence = answer.options[answer.best].probability;
  now.counts.confidence_sum += confidence;
  if (now.confidence) now.confidence->add(confidence);
  if (now.action) now.action->add(answer.lesson.action == Action::kAct ? 1 : 0);
  const bool drifts = (now.confidence && now.confidence->alarm()) || (now.action && now.action->alarm());
  if (drifts && !drifted)
    log_line(LogLevel::kWarn, "lesson " + lesson.lesson.name + " version " + std::to_string(lesson.lesson.version) +
                                  ": what is asked differs from what it was learnt from (drift)");
}

void LessonWatch::compare(const ShelvedLesson& shadow, bool same) {
  const std::lock_guard<std::mutex> lock(mutex_);
  WatchCounts& counts = watched(shadow).counts;
  counts.compared++;
  if (same) counts.agreed++;
}

WatchCounts LessonWatch::counts(const ShelvedLesson& lesson) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_file_.find(lesson.sha256);
  return found == by_file_.end() ? WatchCounts{} : found->second.counts;
}

WatchDrift LessonWatch::drift(const ShelvedLesson& lesson) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  WatchDrift drift;
  const auto found = by_file_.find(lesson.sha256);
  if (found == by_file_.end()) return drift;
  if (found->second.confidence) drift.confidence = found->second.confidence->state();
  if (found->second.action) drift.action = found->second.action->state();
  return drift;
}

}  // namespace assay::service
