#include "server/http/listening.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace assay::server {

bool is_unix_socket_path(const std::string& host) { return std::string_view(host).ends_with(".sock"); }

void remove_dead_socket(const std::string& path) {
  struct stat status = {};
  sockaddr_un address = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  if (path.size() >= sizeof(address.sun_path)) return;
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int connected = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (connected != 0 && errno == ECONNREFUSED) unlink(path.c_str());
  close(probe);
}

std::string address_of(const std::string& host, int port, bool has_tls) {
  if (is_unix_socket_path(host)) return "unix://" + host;
  const bool is_bare_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  const std::string shown = is_bare_ipv6 ? "[" + host + "]" : host;
  return (has_tls ? "https://" : "http://") + shown + ":" + std::to_string(port);
}

std::size_t allow_connections(std::size_t wanted) {
  // Beside the connections: those above the limit, the model's files, logs, caches, pipes.
  constexpr std::size_t kOtherFiles = 512;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  if (limit.rlim_cur < wanted + kOtherFiles) {
    const rlim_t hard = limit.rlim_max == RLIM_INFINITY ? wanted + kOtherFiles : limit.rlim_max;
    limit.rlim_cur = std::min<rlim_t>(hard, wanted + kOtherFiles);
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  const std::size_t files = limit.rlim_cur;
  return std::min(wanted, files > 2 * kOtherFiles ? files - kOtherFiles : std::max<std::size_t>(files / 2, 1));
}

}  // namespace assay::server
