#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace assay {
namespace {

namespace fs = std::filesystem;

// A tree of groups as the kernel shows it.
class Cgroup : public ::testing::Test {
 public:
  ~Cgroup() override { fs::remove_all(folder_); }

 protected:
  Cgroup() : folder_(fs::temp_directory_path() / ("assay-cgroup-" + std::to_string(getpid()))) {}

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  CgroupLimits read() {
    return read_cgroup_limits({.of_process = (folder_ / "self").string(), .root = (folder_ / "root").string()});
  }

 private:
  const fs::path folder_;
};

TEST_F(Cgroup, NothingIsSaidWhereThereIsNoLimit) {
  EXPECT_FALSE(read().memory_limit_bytes);
  write("self", "0::/a\n");
  write("root/a/memory.max", "max\n");
  write("root/a/memory.current", "5000\n");
  write("root/a/cpu.max", "max 100000\n");
  write("root/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("root/cpu/cpu.cfs_quota_us", "-1\n");
  write("root/cpu/cpu.cfs_period_us", "100000\n");
  const CgroupLimits limits = read();
  EXPECT_FALSE(limits.memory_limit_bytes);
  EXPECT_FALSE(limits.memory_free_bytes);
  EXPECT_FALSE(limits.cpu_cores);
}

TEST_F(Cgroup, OfVersion2TheSmallestOnTheWayUpHolds) {
  write("self", "0::/system.slice/assay.service\n");
  write("root/system.slice/assay.service/memory.max", "2000000\n");
  write("root/system.slice/assay.service/memory.current", "100000\n");
  write("root/system.slice/memory.max", "3000000\n");
  write("root/system.slice/memory.current", "2900000\n");  // its other services
  write("root/system.slice/assay.service/cpu.max", "150000 100000\n");
  const CgroupLimits limits = read();
  EXPECT_EQ(limits.memory_limit_bytes, 2000000u);
  EXPECT_EQ(limits.memory_free_bytes, 100000u);
  EXPECT_EQ(limits.cpu_cores, 1.5);
}

TEST_F(Cgroup, WhatFilesAreCachedForIsFree) {
  write("root/memory.max", "1000\n");
  write("root/memory.current", "900\n");
  write("root/memory.stat", "anon 150\nfile 750\ninactive_file 400\nactive_file 300\nslab 50\n");
  EXPECT_EQ(read().memory_free_bytes, 800u);
}

TEST_F(Cgroup, Version1HasATreeForEachController) {
  write("self", "9:name=systemd:/x\n4:memory:/box/one\n2:cpu,cpuacct:/box\n0::/\n");
  write("root/memory/box/one/memory.limit_in_bytes", "400\n");
  write("root/memory/box/one/memory.usage_in_bytes", "300\n");
  write("root/memory/box/one/memory.stat", "cache 1\nactive_file 1\ntotal_inactive_file 100\ntotal_active_file 50\n");
  write("root/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("root/cpu/box/cpu.cfs_quota_us", "50000\n");
  write("root/cpu/box/cpu.cfs_period_us", "100000\n");
  const CgroupLimits limits = read();
  EXPECT_EQ(limits.memory_limit_bytes, 400u);
  EXPECT_EQ(limits.memory_free_bytes, 250u);
  EXPECT_EQ(limits.cpu_cores, 0.5);
}

TEST_F(Cgroup, InAContainerTheRootIsItsOwnGroup) {
  write("self", "4:memory:/docker/0123\n0::/../../docker/0123\n");
  write("root/memory/memory.limit_in_bytes", "500\n");
  write("root/memory.max", "600\n");
  EXPECT_EQ(read().memory_limit_bytes, 500u);
}

}  // namespace
}  // namespace assay
