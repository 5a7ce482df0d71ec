#include "cli/question_flags.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(QuestionFlags, FirstEqualsSignSplitsAnOption) {
  EXPECT_EQ(option_from_text("refund").id, "refund");
  EXPECT_EQ(option_from_text("refund").description, std::nullopt);
  EXPECT_EQ(option_from_text("a=b=c").id, "a");
  EXPECT_EQ(option_from_text("a=b=c").description, "b=c");
  EXPECT_EQ(option_from_text(" a =").id, " a ");
  EXPECT_EQ(option_from_text(" a =").description, "");
}

TEST(QuestionFlags, ScalesAreRangesOrTexts) {
  const auto range = scale_from_text("-1..2");
  ASSERT_TRUE(range.ok());
  ASSERT_EQ(range->size(), 4u);
  EXPECT_EQ(range->front().id, "-1");
  EXPECT_EQ(range->back().id, "2");
  const auto texts = scale_from_text("bad,ok,good");
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ((*texts)[2].id, "2");
  EXPECT_EQ((*texts)[2].description, "good");
  const auto dotted = scale_from_text("not yet...,now..,done");
  ASSERT_TRUE(dotted.ok());
  EXPECT_EQ(dotted->size(), 3u);
  EXPECT_EQ(dotted->front().description, "not yet...");
  EXPECT_NE(scale_from_text("5..0").error().message.find("from low to high"), std::string::npos);
  for (const char* bad : {"5..0", "a..b", "0..", "bad,,good", "bad,"}) EXPECT_FALSE(scale_from_text(bad).ok()) << bad;
}

TEST(QuestionFlags, OneWayToGiveOptions) {
  EXPECT_EQ(question_from_flags({.question = "", .options = {"a"}}).error().field, "--question");
  EXPECT_EQ(question_from_flags({.question = "q", .options = {}}).error().field, "--option");
  EXPECT_FALSE(question_from_flags({.question = "q", .options = {"a"}, .yes_no = true}).ok());
  const auto yes_no = question_from_flags({.question = "q", .options = {}, .yes_no = true});
  ASSERT_TRUE(yes_no.ok());
  EXPECT_EQ(yes_no->type, QuestionType::kYesNo);
  EXPECT_EQ(yes_no->options[0].id, "yes");
  const auto scale = question_from_flags({.question = "q", .options = {}, .yes_no = false, .scale = "0..3"});
  EXPECT_EQ(scale->type, QuestionType::kScale);
  const auto choice = question_from_flags({.question = "q", .options = {"a=first", "b"}});
  EXPECT_EQ(choice->options[0].description, "first");
}

}  // namespace
}  // namespace assay::cli
