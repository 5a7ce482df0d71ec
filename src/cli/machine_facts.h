#pragma once
// What `assay doctor` looks at: facts about this machine, read from the system once.

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "assay/build.h"
#include "cli/model_flags.h"

namespace assay::cli {

struct MachineFacts {
  BuildReport build;
  bool is_x86 = false;
  std::set<std::string> cpu_flags;  // as the kernel spells them: "avx2", "avx512_vnni"; empty when unknown

  std::string model_path;  // empty: none was named
  bool model_exists = false;
  bool model_readable = false;
  bool model_is_gguf = false;  // it begins with the four bytes "GGUF"
  std::uint64_t model_bytes = 0;
  bool model_folder_writable = false;

  std::string cache_folder;  // where check results go when the model's folder is read-only
  bool cache_folder_writable = false;
  std::uint64_t disk_free_bytes = 0;  // where check results go

  std::string pack_cache;  // --pack-cache; empty: none
  bool pack_cache_writable = false;
  std::uint64_t pack_cache_free_bytes = 0;

  std::optional<std::uint64_t> memory_limit_bytes;  // a cgroup's
  std::uint64_t memory_used_bytes = 0;              // only with a limit (base/cgroup_memory.h)
  std::optional<double> cpu_limit;                  // cgroup v2, in cores

  std::int32_t threads_asked = 0;  // --threads; 0: default
  int port = 8080;
  bool port_free = true;
};

// Where the facts are read; tests name folders of their own.
struct MachinePaths {
  std::string cpuinfo = "/proc/cpuinfo";
  std::string cgroup_of_process = "/proc/self/cgroup";
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string cache_home;  // $XDG_CACHE_HOME, else $HOME/.cache
};

MachineFacts read_machine_facts(const BuildReport& build, const ModelFlags& model, int port, const MachinePaths& paths);

// True when 127.0.0.1:port can be bound now.
bool port_is_free(int port);

}  // namespace assay::cli
