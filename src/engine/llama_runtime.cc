#include "engine/llama_runtime.h"

#include <common.h>
#include <ggml-backend.h>
#include <llama.h>
#include <log.h>
#include <mtmd-helper.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>

#include "base/cgroup_memory.h"
#include "base/log.h"

namespace assay::engine {
namespace {

std::mutex log_mutex;    // guards last_error
std::string last_error;  // NOLINT(cert-err58-cpp): llama.cpp's log has one callback for the process

void on_llama_log(ggml_log_level level, const char* text, void*) {
  if (level != GGML_LOG_LEVEL_ERROR && level != GGML_LOG_LEVEL_WARN) return;
  std::string line(text);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  if (line.empty()) return;
  log_line(LogLevel::kDebug, "llama.cpp: " + line);
  if (level != GGML_LOG_LEVEL_ERROR) return;
  const std::lock_guard<std::mutex> lock(log_mutex);
  last_error = line;
}

// Cores that a container's quota allows, in microseconds of each period: cgroup v2 has both in one file ("max" for no
// quota), v1 has one for each (-1 for none).
std::optional<double> quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (file >> quota >> period && period > 0) return quota / period;
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

}  // namespace

void start_llama() {
  static std::once_flag once;
  std::call_once(once, [] {
    llama_log_set(on_llama_log, nullptr);
    common_log_set_verbosity_thold(-1);
    ggml_backend_load_all();
    llama_backend_init();
  });
  llama_log_set(on_llama_log, nullptr);  // some of llama.cpp's own helpers replace it
}

void follow_projector_log() { mtmd_helper_log_set(on_llama_log, nullptr); }

std::string take_llama_error() {
  const std::lock_guard<std::mutex> lock(log_mutex);
  return std::exchange(last_error, {});
}

std::int32_t usable_cores() {
  double cores = std::max(1, common_cpu_get_num_physical_cores());
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
    cores = std::min(cores, static_cast<double>(CPU_COUNT(&allowed)));
  if (const std::optional<double> quota = quota_cores()) cores = std::min(cores, std::ceil(*quota));
  return std::max(1, static_cast<std::int32_t>(cores));
}

MachineMemory machine_memory() {
  MachineMemory memory;
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kibibytes = 0;
    words >> name >> kibibytes;
    if (name == "MemTotal:") memory.total_bytes = kibibytes * 1024;
    if (name == "MemAvailable:") memory.free_bytes = kibibytes * 1024;
  }
  if (const std::optional<CgroupMemory> group = cgroup_memory(); group) {
    memory.total_bytes = std::min(memory.total_bytes, group->limit_bytes);
    memory.free_bytes = std::min(memory.free_bytes, group->free_bytes());
  }
  return memory;
}

}  // namespace assay::engine
