#include "cli/machine_facts.h"

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cgroup_memory.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

std::set<std::string> read_cpu_flags(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
  }
  return {};
}

// The process's own cgroup and all above it: the smallest limit holds.
void read_cgroup(const MachinePaths& paths, MachineFacts& facts) {
  if (const auto memory = cgroup_memory({.of_process = paths.cgroup_of_process, .root = paths.cgroup_root})) {
    facts.memory_limit_bytes = memory->limit_bytes;
    facts.memory_used_bytes = memory->used_bytes;
  }
  const std::string line = first_line(paths.cgroup_of_process);
  fs::path relative = line.starts_with("0::/") ? fs::path(line.substr(4)) : fs::path();
  while (true) {
    const fs::path folder = fs::path(paths.cgroup_root) / relative;
    // "200000 100000": 2 cores; "max 100000": no limit.
    const std::string cpu = first_line(folder / "cpu.max");
    const std::size_t space = cpu.find(' ');
    const auto quota = number_of(std::string_view(cpu).substr(0, space));
    const auto period = space == std::string::npos ? std::nullopt : number_of(std::string_view(cpu).substr(space + 1));
    if (quota && period && *period > 0) {
      const double cores = static_cast<double>(*quota) / static_cast<double>(*period);
      if (!facts.cpu_limit || cores < *facts.cpu_limit) facts.cpu_limit = cores;
    }
    if (relative.empty()) return;
    relative = relative.parent_path();
  }
}

void read_model(const std::string& path, MachineFacts& facts) {
  facts.model_path = path;
  if (path.empty()) return;
  std::error_code code;
  facts.model_exists = fs::is_regular_file(path, code);
  facts.model_readable = access(path.c_str(), R_OK) == 0;
  facts.model_bytes = facts.model_exists ? fs::file_size(path, code) : 0;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  file.read(magic.data(), magic.size());
  facts.model_is_gguf = file && std::memcmp(magic.data(), "GGUF", magic.size()) == 0;
  const fs::path folder = fs::path(path).parent_path();
  facts.model_folder_writable = access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

// The nearest folder above `path` that exists, itself included.
fs::path existing_above(fs::path path) {
  std::error_code code;
  while (!path.empty() && !fs::exists(path, code) && path.has_relative_path()) path = path.parent_path();
  return path.empty() ? fs::path(".") : path;
}

struct FolderFacts {
  bool writable = false;
  std::uint64_t free_bytes = 0;
};

// Of a folder, or of what it would be made in.
FolderFacts folder_facts(const fs::path& folder) {
  const fs::path existing = existing_above(folder);
  std::error_code code;
  const fs::space_info space = fs::space(existing, code);
  return {.writable = access(existing.c_str(), W_OK) == 0, .free_bytes = code ? 0 : space.available};
}

}  // namespace

bool port_is_free(int port) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) return true;
  const int on = 1;
  setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr generic{};
  static_assert(sizeof generic == sizeof address);
  std::memcpy(&generic, &address, sizeof address);
  const bool is_free = bind(socket_fd, &generic, sizeof generic) == 0;
  close(socket_fd);
  return is_free;
}

MachineFacts read_machine_facts(const BuildReport& build, const ModelFlags& model, int port,
                                const MachinePaths& paths) {
  MachineFacts facts;
  facts.build = build;
#if defined(__x86_64__) || defined(__i386__)
  facts.is_x86 = true;
#endif
  facts.cpu_flags = read_cpu_flags(paths.cpuinfo);
  read_model(model.model, facts);
  read_cgroup(paths, facts);
  facts.cache_folder = model.check_dir.empty() ? (fs::path(paths.cache_home) / "assay").string() : model.check_dir;
  const FolderFacts results = folder_facts(facts.cache_folder);
  facts.cache_folder_writable = results.writable;
  facts.disk_free_bytes = results.free_bytes;
  facts.pack_cache = model.pack_cache;
  if (!facts.pack_cache.empty()) {
    const FolderFacts packs = folder_facts(facts.pack_cache);
    facts.pack_cache_writable = packs.writable;
    facts.pack_cache_free_bytes = packs.free_bytes;
  }
  facts.threads_asked = model.threads;
  facts.port = port;
  facts.port_free = port_is_free(port);
  return facts;
}

}  // namespace assay::cli
