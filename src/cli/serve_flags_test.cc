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

}  // namespace
}  // namespace assay::cli
