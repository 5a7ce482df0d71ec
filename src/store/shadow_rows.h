#pragma once
// What versions in the shadow would have answered, beside the answers that were given. Part of the caller's
// transaction.

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/error.h"
#include "store/database.h"
#include "store/decision_record.h"

namespace assay::store {

// Which answer of which decision.
struct AnswerPlace {
  std::string decision_id;
  std::size_t question = 0;  // its place in the request
};

// Nothing happens when the decision is not kept (any more), or its options are not as many.
Status put_shadow(Database& database, const AnswerPlace& place, const ShadowAnswer& shadow);

// Of the labelled answers of a lesson's version that another version answered in the shadow.
struct ShadowLabels {
  std::uint64_t labelled = 0;
  std::uint64_t shadow_right = 0;
  std::uint64_t active_right = 0;
  std::uint64_t shadow_alone = 0;  // the shadow was right and the active version wrong
  std::uint64_t active_alone = 0;  // the other way round
};
Result<ShadowLabels> count_shadow_labels(Database& database, const std::string& lesson, std::int32_t active,
                                         std::int32_t shadow);

}  // namespace assay::store
