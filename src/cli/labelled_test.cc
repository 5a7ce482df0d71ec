#include "cli/labelled.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

Labelled row(const std::string& expected, const std::string& predicted) {
  Labelled out;
  out.outcome = {.probabilities = {0.75, 0.25}, .expected = expected == predicted ? 0u : 1u, .predicted = 0};
  out.expected = expected;
  out.predicted = predicted;
  return out;
}

TEST(Labelled, FewIdsMakeAMatrix) {
  EXPECT_EQ(labelled_summary({row("a", "a"), row("b", "a"), row("b", "b"), row("a", "a")}),
            "accuracy 75.0 % (3 of 4), expected calibration error 0.000\n"
            "expected \\ answered  a  b\n"
            "a                    2  .\n"
            "b                    1  1\n");
}

TEST(Labelled, ManyIdsMakeAListOfConfusions) {
  std::vector<Labelled> rows;
  for (char c = 'a'; c < 'k'; ++c) rows.push_back(row(std::string(1, c), std::string(1, c)));
  rows.push_back(row("a", "b"));
  rows.push_back(row("c", "d"));
  rows.push_back(row("c", "d"));
  const std::string text = labelled_summary(rows);
  EXPECT_NE(text.find("\n2 x  c  answered d\n1 x  a  answered b\n"), std::string::npos) << text;
}

TEST(Labelled, NoRowsSayNothing) { EXPECT_EQ(labelled_summary({}), ""); }

TEST(Labelled, RowsWithoutARightAnswerHaveNone) { EXPECT_FALSE(labelled(Row{}, Answer{}).has_value()); }

}  // namespace
}  // namespace assay::cli
