#include "service/lesson_watch.h"

namespace assay::service {

void LessonWatch::count(const ShelvedLesson& lesson, const Answer& answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  LessonCounts& counts = by_file_[lesson.sha256];
  counts.answers++;
  if (answer.lesson.action == Action::kAct) counts.acted++;
  if (answer.lesson.action == Action::kEscalate) counts.escalated++;
  counts.confidence_sum += answer.options[answer.best].probability;
}

void LessonWatch::compare(const ShelvedLesson& shadow, bool same) {
  const std::lock_guard<std::mutex> lock(mutex_);
  LessonCounts& counts = by_file_[shadow.sha256];
  counts.compared++;
  if (same) counts.agreed++;
}

LessonCounts LessonWatch::counts(const ShelvedLesson& lesson) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_file_.find(lesson.sha256);
  return found == by_file_.end() ? LessonCounts{} : found->second;
}

}  // namespace assay::service
