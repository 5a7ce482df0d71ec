#include "decision/labels.h"

#include <gtest/gtest.h>

#include <set>

namespace assay::decision {
namespace {

TEST(Labels, CountFromASingleLetterToTwo) {
  const auto codes = label_codes();
  ASSERT_EQ(codes.size(), 702u);
  EXPECT_EQ(codes[0], "A");
  EXPECT_EQ(codes[25], "Z");
  EXPECT_EQ(codes[26], "AA");
  EXPECT_EQ(codes[27], "AB");
  EXPECT_EQ(codes[52], "BA");
  EXPECT_EQ(codes[701], "ZZ");
}

TEST(Labels, AreAllDifferent) {
  const auto codes = label_codes();
  EXPECT_EQ(std::set<std::string>(codes.begin(), codes.end()).size(), codes.size());
}

}  // namespace
}  // namespace assay::decision
