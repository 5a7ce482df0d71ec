#include "server/llama/wake_check.h"

#include <gtest/gtest.h>

#include <fstream>

namespace assay::server {
namespace {

class WakeCheckTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string put(const std::string& name, const std::string& text = "weights") {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << text;
    return dir_ + "/" + name;
  }
  static std::string why(const WakeCheck& check) {
    const Status status = check.check();
    if (status.ok()) return "";
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    return status.error().message;
  }

  const std::string dir_ = ::testing::TempDir() + "assay_wake_check_test";
};

TEST_F(WakeCheckTest, TheSameFileIsFine) {
  EXPECT_EQ(why(WakeCheck({put("a.gguf"), ""}, 0, {})), "");
  EXPECT_EQ(why(WakeCheck()), "");
}

TEST_F(WakeCheckTest, AFileThatHasGoneIsToldUntilItIsBack) {
  const std::string path = put("a.gguf");
  const WakeCheck check({path}, 0, {});
  std::filesystem::rename(path, path + ".away");
  EXPECT_NE(why(check).find("cannot be read"), std::string::npos);
  std::filesystem::rename(path + ".away", path);
  EXPECT_EQ(why(check), "");
}

TEST_F(WakeCheckTest, AnotherFileUnderTheNameIsTold) {
  const std::string path = put("a.gguf");
  const WakeCheck check({path}, 0, {});
  put("a.gguf", "longer weights");
  EXPECT_NE(why(check).find("another"), std::string::npos);
  put("a.gguf");
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(9));
  EXPECT_NE(why(check).find("another"), std::string::npos);
}

TEST_F(WakeCheckTest, AllShardsAreLookedAt) {
  const std::string first = put("m-00001-of-00003.gguf");
  put("m-00002-of-00003.gguf");
  const std::string last = put("m-00003-of-00003.gguf");
  const WakeCheck check({first}, 0, {});
  EXPECT_EQ(why(check), "");
  std::filesystem::remove(last);
  EXPECT_NE(why(check), "");
}

TEST_F(WakeCheckTest, MemoryThatIsShortIsToldWithItsNumbers) {
  std::uint64_t free_bytes = std::uint64_t{90} << 20;
  const WakeCheck check({}, std::uint64_t{100} << 20, [&free_bytes] { return free_bytes; });
  EXPECT_NE(why(check).find("100 MiB, and 90 MiB are free"), std::string::npos);
  free_bytes <<= 1;
  EXPECT_EQ(why(check), "");
}

}  // namespace
}  // namespace assay::server
