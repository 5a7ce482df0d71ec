#include "cli/serve_flags.h"

#include <gtest/gtest.h>

#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

TEST(ServeFlags, KeysComeFromFlagsAndAFile) {
  const TempDir dir;
  ServeFlags flags;
  EXPECT_TRUE(read_api_keys(flags)->empty());
  flags.api_keys = {"one"};
  flags.api_key_file = dir.write("keys", "# comment\ntwo \r\n\nthree");
  EXPECT_EQ(*read_api_keys(flags), (std::vector<std::string>{"one", "two", "three"}));
}

TEST(ServeFlags, AFileWithoutAKeyIsRefused) {
  const TempDir dir;
  ServeFlags flags;
  flags.api_key_file = dir.write("keys", "\n# none\n");
  EXPECT_EQ(read_api_keys(flags).error().code, ErrorCode::kInvalidArgument);
  flags.api_key_file = dir.path("absent");
  EXPECT_EQ(read_api_keys(flags).error().code, ErrorCode::kNotFound);
  flags.api_key_file.clear();
  flags.api_keys = {""};
  EXPECT_FALSE(read_api_keys(flags).ok());
}

TEST(ServeFlags, WhatIsKeptOfDecisions) {
  ServeFlags flags;
  EXPECT_FALSE(serve_lesson_options(flags)->has_value());
  flags.decisions = "kept.sqlite";
  using Keep = LessonOptions::Keep;
  EXPECT_EQ(serve_lesson_options(flags).value()->keep, Keep::kHashes);
  EXPECT_EQ(serve_lesson_options(flags).value()->decisions_age_ms_max, 0);
  EXPECT_EQ(serve_lesson_options(flags).value()->promotion, LessonOptions::Promotion::kAgreement);
  flags.keep_decisions = "states";
  flags.keep_days = 30;
  flags.hidden_states_mb = 2;
  flags.promote_by = "labels";
  flags.promote_error = "0.01";
  const LessonOptions options = *serve_lesson_options(flags).value();
  EXPECT_EQ(options.keep, Keep::kStates);
  EXPECT_EQ(options.decisions_age_ms_max, std::int64_t{30} * 24 * 3600 * 1000);
  EXPECT_EQ(options.hidden_states_bytes_max, 2u * 1024 * 1024);
  EXPECT_EQ(options.promotion, LessonOptions::Promotion::kLabels);
  EXPECT_EQ(options.promotion_error, 0.01);
  flags.promote_error = "1";
  EXPECT_EQ(serve_lesson_options(flags).error().field, "--promote-error");
}

}  // namespace
}  // namespace assay::cli
