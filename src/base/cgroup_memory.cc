// A model that was read once lies in the page cache, and the kernel counts that as the group's use: taken as it stands,
// a container in which a model fits would have no room for it at its second start.
#include "base/cgroup_memory.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace assay {
namespace {

namespace fs = std::filesystem;

// Where a version of cgroups has its files below the root, and what they are called.
struct Version {
  const char* folder;
  const char* limit;
  const char* used;
  std::array<std::string_view, 2> given_up;  // in memory.stat
};
constexpr Version kSecond = {"", "memory.max", "memory.current", {"inactive_file", "active_file"}};
constexpr Version kFirst = {
    "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
// v1 says "no limit" by the largest number of pages.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

// The first number of a file, if it has one ("max" is none).
std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

std::uint64_t given_up_bytes(const fs::path& folder, const Version& version) {
  std::ifstream file(folder / "memory.stat");
  std::uint64_t bytes = 0;
  std::string name;
  for (std::uint64_t number = 0; file >> name >> number;) {
    if (name == version.given_up[0] || name == version.given_up[1]) bytes += number;
  }
  return bytes;
}

std::optional<CgroupMemory> memory_of(const fs::path& folder, const Version& version) {
  const std::optional<std::uint64_t> limit = number_in(folder / version.limit);
  if (!limit.has_value() || *limit >= kNoLimit) return std::nullopt;
  const std::uint64_t used = number_in(folder / version.used).value_or(0);
  const std::uint64_t given_up = given_up_bytes(folder, version);
  return CgroupMemory{.limit_bytes = *limit, .used_bytes = used > given_up ? used - given_up : 0};
}

// "0::/a/b" is of v2, "7:memory:/a/b" of v1. A container may see itself as the root, whatever the line says.
fs::path group_of_process(const std::string& path, bool is_first) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find(':');
    const std::size_t end = line.find(':', begin + 1);
    if (begin == std::string::npos || end == std::string::npos) continue;
    const std::string controllers = "," + line.substr(begin + 1, end - begin - 1) + ",";
    const bool is_it = is_first ? controllers.find(",memory,") != std::string::npos : controllers == ",,";
    if (is_it) return fs::path(line.substr(end + 1)).relative_path();
  }
  return {};
}

}  // namespace

std::optional<CgroupMemory> cgroup_memory(const CgroupPaths& paths) {
  std::optional<CgroupMemory> least;
  for (const Version& version : {kSecond, kFirst}) {
    fs::path group = group_of_process(paths.of_process, *version.folder != '\0');
    for (;; group = group.parent_path()) {
      const std::optional<CgroupMemory> found = memory_of(fs::path(paths.root) / version.folder / group, version);
      if (found && (!least || found->free_bytes() < least->free_bytes())) least = found;
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace assay
