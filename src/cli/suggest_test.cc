#include "cli/suggest.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(Suggest, FindsTheNearestName) {
  EXPECT_EQ(nearest_name("sevre", {"score", "serve", "eval"}), "serve");
  EXPECT_EQ(nearest_name("thread", {"threads", "text"}), "threads");
  EXPECT_EQ(nearest_name("comp", {"completion", "decide"}), "completion");
}

TEST(Suggest, FirstOfEquallyNearNames) { EXPECT_EQ(nearest_name("bat", {"cat", "hat"}), "cat"); }

TEST(Suggest, StaysSilentWhenNothingIsClose) {
  EXPECT_EQ(nearest_name("zzzzzz", {"serve", "eval"}), std::nullopt);
  EXPECT_EQ(nearest_name("", {"a"}), std::nullopt);
  EXPECT_EQ(nearest_name("x", {"y"}), std::nullopt);
  EXPECT_EQ(suggestion_text("zzzzzz", {"serve"}), "");
}

TEST(Suggest, WritesTheQuestion) {
  EXPECT_EQ(suggestion_text("thread", {"threads"}, "--"), ", did you mean '--threads'?");
}

}  // namespace
}  // namespace assay::cli
