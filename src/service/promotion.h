#pragma once
// May a version in the shadow become the active one? Pure.

#include <cstdint>
#include <string>

#include "assay/lesson_desk.h"
#include "service/lesson_watch.h"
#include "store/shadow_rows.h"

namespace assay::service {

// How it does beside the active version, and what the rule says.
struct ShadowStanding {
  std::int32_t version = 0;
  std::uint64_t compared = 0;  // answers that it answered, too
  std::uint64_t agreed = 0;    // of those: with the same option
  store::ShadowLabels labels;  // of those: what labels say; all 0 where no decisions are kept
  double log_evidence = 0;     // that it is right more often (teach/paired.h)
  std::string rule = {};       // for people
  bool met = false;
};

ShadowStanding shadow_standing(std::int32_t version, const WatchCounts& counts, const store::ShadowLabels& labels,
                               const LessonOptions& options);

// Why it is not promoted, in one sentence without its end.
std::string why_not(const ShadowStanding& standing);

}  // namespace assay::service
