#include "cli/suggest.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
  EXPECT_EQ(edit_distance("sevre", "serve"), 1u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
}

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
