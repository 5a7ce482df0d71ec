// Version 2 has one tree, "0::/path". Version 1 has one for each controller, "4:memory:/path", below a folder of its
// name. Inside of a container the path is often the host's, which is not there; the container's own group is then the
// root. So every folder from the process's own up to the root is looked at, and those that are not there say nothing.
#include "base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimitBytes = std::uint64_t{1} << 60;  // version 1 says "none" with a number near 2^63

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "max" and what is not there are nothing.
std::optional<std::uint64_t> bytes_in(const fs::path& path) {
  const std::optional<std::int64_t> number = number_of(first_line(path));
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) >= kNoLimitBytes) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// Pages of files that the kernel drops when memory is wanted.
std::uint64_t cached_bytes(const fs::path& folder, std::string_view prefix) {
  std::ifstream file(folder / "memory.stat");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t bytes = 0;
    if (!(words >> name >> bytes)) continue;
    for (const char* kind : {"inactive_file", "active_file"}) {
      if (name == std::string(prefix) + kind) sum += bytes;
    }
  }
  return sum;
}

template <typename Number>
void lower(std::optional<Number>& to, Number number) {
  if (!to || number < *to) to = number;
}

// The names of a group's files, which differ.
struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* stat_prefix;  // version 1: what its children use counts too only under these names
};
constexpr MemoryFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"};
constexpr MemoryFiles kVersion2{"memory.max", "memory.current", ""};

void read_memory(const fs::path& folder, const MemoryFiles& files, CgroupLimits& out) {
  const std::optional<std::uint64_t> limit = bytes_in(folder / files.limit);
  if (!limit) return;
  const std::uint64_t used = bytes_in(folder / files.used).value_or(0);
  const std::uint64_t held = used - std::min(used, cached_bytes(folder, files.stat_prefix));
  lower(out.memory_limit_bytes, *limit);
  lower(out.memory_free_bytes, *limit - std::min(*limit, held));
}

void lower_cores(std::optional<std::int64_t> quota, std::optional<std::int64_t> period, CgroupLimits& out) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return;
  lower(out.cpu_cores, static_cast<double>(*quota) / static_cast<double>(*period));
}

// "200000 100000": 2 cores; "max 100000": no limit.
void read_cpu_version2(const fs::path& folder, CgroupLimits& out) {
  const std::string line = first_line(folder / "cpu.max");
  const std::size_t space = line.find(' ');
  if (space == std::string::npos) return;
  lower_cores(number_of(std::string_view(line).substr(0, space)), number_of(std::string_view(line).substr(space + 1)),
              out);
}

void read_cpu_version1(const fs::path& folder, CgroupLimits& out) {
  lower_cores(number_of(first_line(folder / "cpu.cfs_quota_us")), number_of(first_line(folder / "cpu.cfs_period_us")),
              out);
}

// From the process's own folder up to `root`.
template <typename Read>
void visit(const fs::path& root, std::string_view path, const Read& read) {
  while (path.starts_with('/')) path.remove_prefix(1);
  fs::path relative = path.find("..") == std::string_view::npos ? fs::path(path) : fs::path();
  for (;; relative = relative.parent_path()) {
    read(root / relative);
    if (relative.empty()) return;
  }
}

bool has_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

CgroupLimits read_cgroup_limits(const CgroupPaths& paths) {
  CgroupLimits out;
  const fs::path root(paths.root);
  std::string of_all;  // where the file cannot be read, the root alone is looked at
  std::string of_memory;
  std::string of_cpu;
  std::ifstream file(paths.of_process);
  for (std::string line; std::getline(file, line);) {
    const std::size_t list = line.find(':');
    const std::size_t path = list == std::string::npos ? list : line.find(':', list + 1);
    if (path == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(list + 1, path - list - 1);
    if (controllers.empty()) of_all = line.substr(path + 1);
    if (has_controller(controllers, "memory")) of_memory = line.substr(path + 1);
    if (has_controller(controllers, "cpu")) of_cpu = line.substr(path + 1);
  }
  visit(root, of_all, [&out](const fs::path& folder) {
    read_memory(folder, kVersion2, out);
    read_cpu_version2(folder, out);
  });
  visit(root / "memory", of_memory, [&out](const fs::path& folder) { read_memory(folder, kVersion1, out); });
  visit(root / "cpu", of_cpu, [&out](const fs::path& folder) { read_cpu_version1(folder, out); });
  return out;
}

}  // namespace assay
