#pragma once
// What lessons do in service, counted: answers, what they acted on, shadows.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "assay/decision.h"
#include "service/lesson_book.h"

namespace assay::service {

// Numbers of one version since this process began.
struct LessonCounts {
  std::uint64_t answers = 0;
  std::uint64_t acted = 0;
  std::uint64_t escalated = 0;
  double confidence_sum = 0;  // of the probabilities of the answers given
  // Of a version in the shadow: how often it was held against the active one, and said the same.
  std::uint64_t compared = 0;
  std::uint64_t agreed = 0;
};

// Thread-safe.
class LessonWatch {
 public:
  // An answer by an active version.
  void count(const ShelvedLesson& lesson, const Answer& answer);
  // An answer of a version in the shadow, beside the active one's.
  void compare(const ShelvedLesson& shadow, bool same);
  LessonCounts counts(const ShelvedLesson& lesson) const;

 private:
  mutable std::mutex mutex_;                     // guards what follows
  std::map<std::string, LessonCounts> by_file_;  // by the SHA-256 of the lesson's file
};

}  // namespace assay::service
