#include "service/promotion.h"

#include <cmath>

#include "assay/value.h"
#include "teach/paired.h"

namespace assay::service {
namespace {

std::string number_text(double number) { return to_json_text(Value(number)); }

std::string percent_text(double share) { return std::to_string(static_cast<int>(std::lround(share * 100))) + " %"; }

}  // namespace

ShadowStanding shadow_standing(std::int32_t version, const WatchCounts& counts, const store::ShadowLabels& labels,
                               const LessonOptions& options) {
  ShadowStanding out{.version = version, .compared = counts.compared, .agreed = counts.agreed, .labels = labels};
  out.log_evidence = teach::log_evidence_of_better(labels.shadow_alone, labels.active_alone);
  if (options.promotion == LessonOptions::Promotion::kLabels) {
    const double needed = -std::log(options.promotion_error);
    out.met = out.log_evidence >= needed;
    out.rule = "labels: right more often, with an error of at most " + number_text(options.promotion_error) +
               " (log_evidence of at least " + number_text(std::ceil(needed * 1000) / 1000) + ")";
    return out;
  }
  const bool agrees = static_cast<double>(out.agreed) >= options.shadow_agreement * static_cast<double>(out.compared);
  out.met = out.compared >= options.shadow_agreement_rows && agrees;
  out.rule = "agreement: the same answer in " + percent_text(options.shadow_agreement) + " of at least " +
             std::to_string(options.shadow_agreement_rows);
  return out;
}

std::string why_not(const ShadowStanding& standing) {
  return "it agreed in " + std::to_string(standing.agreed) + " of " + std::to_string(standing.compared) +
         " answers, and of " + std::to_string(standing.labels.labelled) + " labelled ones it alone was right in " +
         std::to_string(standing.labels.shadow_alone) + " and the active version alone in " +
         std::to_string(standing.labels.active_alone) + "; the rule is " + standing.rule;
}

}  // namespace assay::service
