#pragma once
// What lessons do in service, counted: answers, what they acted on, drift against the labelled rows, shadows. The
// numbers of a version can be kept and taken up again, so that they are over its whole life.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "service/lesson_book.h"
#include "teach/drift.h"

namespace assay::service {

// Numbers of one version since it first answered.
struct WatchCounts {
  std::uint64_t answers = 0;
  std::uint64_t acted = 0;
  std::uint64_t escalated = 0;
  std::uint64_t abstained = 0;
  double confidence_sum = 0;  // of the probabilities of the answers given
  // Of a version in the shadow: how often it was held against the active one, and said the same.
  std::uint64_t compared = 0;
  std::uint64_t agreed = 0;
};

// What the sequential tests say (teach/drift.h); nothing where the lesson has nothing to test against.
struct WatchDrift {
  std::optional<teach::DriftState> confidence;  // against Lesson::mean_confidence
  std::optional<teach::DriftState> action;      // the share acted on, against the threshold's coverage
  bool alarm() const { return (confidence && confidence->alarm) || (action && action->alarm); }
};

// Thread-safe.
class LessonWatch {
 public:
  explicit LessonWatch(double false_alarm_rate) : false_alarm_rate_(false_alarm_rate) {}

  // An answer by an active version.
  void count(const ShelvedLesson& lesson, const Answer& answer);
  // An answer of a version in the shadow, beside the active one's.
  void compare(const ShelvedLesson& shadow, bool same);
  WatchCounts counts(const ShelvedLesson& lesson) const;
  WatchDrift drift(const ShelvedLesson& lesson) const;

  // All that is known of a version, to be kept: finite numbers.
  std::vector<double> numbers(const ShelvedLesson& lesson) const;
  // Goes on from there. False: they are no such numbers, and the version begins anew.
  bool restore(const ShelvedLesson& lesson, const std::vector<double>& numbers);

 private:
  struct Watched {
    WatchCounts counts;
    std::optional<teach::DriftTest> confidence;
    std::optional<teach::DriftTest> action;
  };
  Watched& watched(const ShelvedLesson& lesson);

  const double false_alarm_rate_;
  mutable std::mutex mutex_;                // guards what follows
  std::map<std::string, Watched> by_file_;  // by the SHA-256 of the lesson's file
};

}  // namespace assay::service
