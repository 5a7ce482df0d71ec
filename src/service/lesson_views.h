#pragma once
// Lessons as JSON for those who look after them.

#include <optional>

#include "assay/value.h"
#include "service/lesson_book.h"
#include "service/lesson_watch.h"
#include "service/promotion.h"

namespace assay::service {

// {"name", "version", "sha256", "created", "taught", "question", "labels", "accuracy", "accuracy_zero_shot",
// "thresholds": [...], "fallback", "note", "problem"}
Value version_view(const ShelvedLesson& lesson);
// The active version's view, and "versions", "active", "shadow" (a version or null).
Value lesson_view(const LessonVersions& lesson);
// {"lessons": [...], "problems": [...]}
Value shelf_view(const LessonShelf& shelf);
// {"name", "version", "answers", "acted", "escalated", "mean_confidence", "labelled_mean_confidence", "labels",
// "drift": {"alarm", "confidence", "acted"}, "shadow": {"version", "compared", "agreed", "agreement", "labelled",
// "right", "active_right", "right_alone", "active_right_alone", "log_evidence", "rule", "rule_met"}}
Value health_view(const LessonVersions& lesson, const LessonWatch& watch, const std::optional<ShadowStanding>& shadow);

}  // namespace assay::service
