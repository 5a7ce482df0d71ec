#pragma once
// What a container, or a service with limits, allows this process: Linux's control groups, of either version.

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

struct CgroupLimits {
  std::optional<std::uint64_t> memory_limit_bytes;  // the smallest of the process's own group and all above it
  // The least that is left below any of them. What files are cached for counts as free, as in MemAvailable: a model
  // that was only read would otherwise look like memory in use.
  std::optional<std::uint64_t> memory_free_bytes;
  std::optional<double> cpu_cores;  // the smallest quota
};

// Where they are read; tests name folders of their own.
struct CgroupPaths {
  std::string of_process = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// Nothing where there is no limit, or none can be read.
CgroupLimits read_cgroup_limits(const CgroupPaths& paths = {});

}  // namespace assay
