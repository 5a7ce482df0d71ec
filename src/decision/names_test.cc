#include <gtest/gtest.h>

#include "assay/decision.h"

namespace assay {
namespace {

TEST(Names, OfQuestionTypes) {
  EXPECT_STREQ(question_type_name(QuestionType::kChoice), "choice");
  EXPECT_STREQ(question_type_name(QuestionType::kYesNo), "yes_no");
  EXPECT_STREQ(question_type_name(QuestionType::kScale), "scale");
}

TEST(Names, OfReadoutsAreReadBack) {
  for (const Readout readout : {Readout::kAuto, Readout::kLetters, Readout::kText, Readout::kHead}) {
    EXPECT_EQ(readout_from_name(readout_name(readout)), readout);
  }
  EXPECT_STREQ(readout_name(Readout::kLetters), "letters");
}

TEST(Names, UnknownReadoutsAreNothing) {
  EXPECT_EQ(readout_from_name(""), std::nullopt);
  EXPECT_EQ(readout_from_name("Letters"), std::nullopt);
  EXPECT_EQ(readout_from_name("text "), std::nullopt);
}

TEST(Names, OfReliability) {
  EXPECT_STREQ(reliability_name(Reliability::kUnknown), "unknown");
  EXPECT_STREQ(reliability_name(Reliability::kReliable), "reliable");
  EXPECT_STREQ(reliability_name(Reliability::kUnreliable), "unreliable");
}

}  // namespace
}  // namespace assay
