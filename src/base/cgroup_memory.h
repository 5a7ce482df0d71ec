#pragma once
// How much memory a container's limit leaves: cgroup v2, or v1 as older hosts have it.

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

struct CgroupPaths {
  std::string of_process = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

struct CgroupMemory {
  std::uint64_t limit_bytes = 0;
  std::uint64_t used_bytes = 0;  // without file pages that the kernel gives up when somebody needs the room
  std::uint64_t free_bytes() const { return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0; }
};

// Of the process's own group and all above it the one that leaves least. Nothing: no group has a limit.
std::optional<CgroupMemory> cgroup_memory(const CgroupPaths& paths = {});

}  // namespace assay
