#include "base/cgroup_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace assay {
namespace {

namespace fs = std::filesystem;

class CgroupMemoryTest : public ::testing::Test {
 protected:
  CgroupMemoryTest()
      : folder_(fs::temp_directory_path() /
                ("assay-cgroup-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::optional<CgroupMemory> read() const {
    return cgroup_memory({.of_process = folder_ / "cgroup", .root = folder_ / "sys"});
  }

  const fs::path folder_;
};

TEST_F(CgroupMemoryTest, WithoutALimitThereIsNone) {
  EXPECT_FALSE(read().has_value());
  write("cgroup", "0::/a\n");
  write("sys/a/memory.max", "max\n");
  EXPECT_FALSE(read().has_value());
  write("sys/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(read().has_value());
}

TEST_F(CgroupMemoryTest, PagesOfFilesAreNotInUse) {
  write("cgroup", "0::/\n");
  write("sys/memory.max", "1000\n");
  write("sys/memory.current", "900\n");
  write("sys/memory.stat", "anon 100\nfile 850\ninactive_file 500\nactive_file 250\nunevictable 50\n");
  EXPECT_EQ(read()->limit_bytes, 1000u);
  EXPECT_EQ(read()->used_bytes, 150u);
  EXPECT_EQ(read()->free_bytes(), 850u);
}

TEST_F(CgroupMemoryTest, TheGroupThatLeavesLeastCounts) {
  write("cgroup", "0::/a/b\n");
  write("sys/a/b/memory.max", "1000\n");
  write("sys/a/b/memory.current", "100\n");
  write("sys/a/memory.max", "2000\n");
  write("sys/a/memory.current", "1900\n");
  EXPECT_EQ(read()->limit_bytes, 2000u);
  EXPECT_EQ(read()->free_bytes(), 100u);
  write("sys/a/memory.current", "2100\n");
  EXPECT_EQ(read()->free_bytes(), 0u);
}

TEST_F(CgroupMemoryTest, TheFirstVersionIsReadToo) {
  write("cgroup", "12:cpu,cpuacct:/x\n7:memory:/docker/1\n0::/system.slice\n");
  write("sys/memory/memory.limit_in_bytes", "5000\n");
  write("sys/memory/memory.usage_in_bytes", "4000\n");
  write("sys/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 2000\ntotal_active_file 500\n");
  EXPECT_EQ(read()->free_bytes(), 3500u) << "a container does not see the folder that the line names";
  write("sys/memory/docker/1/memory.limit_in_bytes", "300\n");
  EXPECT_EQ(read()->free_bytes(), 300u);
}

}  // namespace
}  // namespace assay
