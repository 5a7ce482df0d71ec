#include "cli/option_spec.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(OptionSpec, OneNameGivesFlagVariableAndKey) {
  std::string value;
  const OptionSpec spec = text_option("check-dir", "DIR", "A folder", &value);
  EXPECT_EQ(flag_of(spec), "--check-dir");
  EXPECT_EQ(env_of(spec), "ASSAY_CHECK_DIR");
  EXPECT_EQ(key_of(spec), "check_dir");
  EXPECT_EQ(env_of(as_request_only(spec)), "");
  EXPECT_EQ(flag_of(as_positional(spec)), "check-dir");
}

TEST(OptionSpec, NumbersAreWholeAndInRange) {
  EXPECT_EQ(*parse_whole_number("--n", "-3", -5, 5), -3);
  for (const char* bad : {"", " 1", "1 ", "1.0", "6", "99999999999999999999", "x"}) {
    EXPECT_FALSE(parse_whole_number("--n", bad, -5, 5).ok()) << bad;
  }
}

TEST(OptionSpec, SwitchesReadWords) {
  EXPECT_TRUE(*parse_switch("--s", "YES"));
  EXPECT_TRUE(*parse_switch("--s", "1"));
  EXPECT_FALSE(*parse_switch("--s", "off"));
  EXPECT_FALSE(parse_switch("--s", "maybe").ok());
}

}  // namespace
}  // namespace assay::cli
