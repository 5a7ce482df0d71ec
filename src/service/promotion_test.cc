#include "service/promotion.h"

#include <gtest/gtest.h>

namespace assay::service {
namespace {

using Promotion = LessonOptions::Promotion;

TEST(Promotion, ByAgreementEnoughAnswersMustBeTheSame) {
  const auto met = [](std::uint64_t compared, std::uint64_t agreed) {
    return shadow_standing(2, {.compared = compared, .agreed = agreed}, {}, {}).met;
  };
  EXPECT_FALSE(met(0, 0));
  EXPECT_FALSE(met(199, 199));
  EXPECT_TRUE(met(200, 180));
  EXPECT_FALSE(met(200, 179));
}

TEST(Promotion, ByLabelsTheShadowMustBeRightMoreOften) {
  const LessonOptions options{.promotion = Promotion::kLabels};
  const auto met = [&](std::uint64_t shadow_alone, std::uint64_t active_alone) {
    return shadow_standing(2, {}, {.labelled = 100, .shadow_alone = shadow_alone, .active_alone = active_alone},
                           options)
        .met;
  };
  EXPECT_FALSE(met(0, 0));
  EXPECT_FALSE(met(6, 0));
  EXPECT_TRUE(met(7, 0));  // an error of 0.05 is evidence of 20
  EXPECT_FALSE(met(7, 3));
  EXPECT_FALSE(met(0, 50));
  LessonOptions strict = options;
  strict.promotion_error = 0.001;
  EXPECT_FALSE(shadow_standing(2, {}, {.shadow_alone = 7}, strict).met);
}

TEST(Promotion, SaysTheRuleAndWhatIsMissing) {
  const LessonOptions options{.promotion = Promotion::kLabels};
  const ShadowStanding standing = shadow_standing(
      3, {.compared = 40, .agreed = 30},
      {.labelled = 12, .shadow_right = 9, .active_right = 8, .shadow_alone = 3, .active_alone = 2}, options);
  EXPECT_EQ(
      why_not(standing),
      "it agreed in 30 of 40 answers, and of 12 labelled ones it alone was right in 3 and the active version alone "
      "in 2; the rule is labels: right more often, with an error of at most 0.05 (log_evidence of at least 2.996)");
  EXPECT_EQ(shadow_standing(3, {}, {}, {}).rule, "agreement: the same answer in 90 % of at least 200");
}

}  // namespace
}  // namespace assay::service
