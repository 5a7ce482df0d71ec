#include "cli/text_table.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(TextTable, AlignsColumnsByCharacters) {
  EXPECT_EQ(text_table({Align::kLeft, Align::kRight, Align::kLeft}, {{"ä", "10", "x"}, {"abc", "5", ""}, {"d"}}),
            "ä    10  x\nabc   5\nd\n");
}

TEST(TextTable, BarsCountEighths) {
  EXPECT_EQ(bar_text(0, 2), "  ");
  EXPECT_EQ(bar_text(1, 2), "██");
  EXPECT_EQ(bar_text(0.5, 2), "█ ");
  EXPECT_EQ(bar_text(0.25, 2), "▌ ");
  EXPECT_EQ(bar_text(1.0 / 16, 2), "▏ ");
}

TEST(TextTable, OneLineHidesControlCharactersAndShowsCuts) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[31m", 20), "a b c [31m");
  EXPECT_EQ(one_line("abcdef", 6), "abcdef");
  EXPECT_EQ(one_line("abcdefg", 6), "abcde…");
  EXPECT_EQ(one_line("äöüß", 3), "äö…");
  EXPECT_EQ(one_line("\xff", 3), "\xEF\xBF\xBD");
}

TEST(TextTable, NumbersForPeople) {
  EXPECT_EQ(fixed(1.0 / 3, 3), "0.333");
  EXPECT_EQ(percent(0.6321), "63.2 %");
  EXPECT_EQ(byte_size(1023), "1023 B");
  EXPECT_EQ(byte_size(1.5 * 1024 * 1024), "1.5 MiB");
}

}  // namespace
}  // namespace assay::cli
