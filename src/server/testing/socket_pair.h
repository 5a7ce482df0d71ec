#pragma once
// Two connected sockets for tests: a client's end and the server's.

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace assay::server {

class SocketPair {
 public:
  SocketPair() { is_open_ = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) == 0; }
  ~SocketPair() {
    close_client();
    if (ends_[1] >= 0) close(ends_[1]);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  bool is_open() const { return is_open_; }
  // The server's end, which is the caller's to close from now on.
  int take_server() { return std::exchange(ends_[1], -1); }
  int client() const { return ends_[0]; }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = write(ends_[0], bytes.data(), bytes.size());
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  // Waits for so many bytes; fewer when the other end closes.
  std::string receive(std::size_t size) const {
    std::string bytes(size, '\0');
    std::size_t filled = 0;
    while (filled < size) {
      const ssize_t count = read(ends_[0], bytes.data() + filled, size - filled);
      if (count <= 0) break;
      filled += static_cast<std::size_t>(count);
    }
    bytes.resize(filled);
    return bytes;
  }
  void end_sending() const { shutdown(ends_[0], SHUT_WR); }
  void close_client() {
    if (ends_[0] >= 0) close(std::exchange(ends_[0], -1));
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
  bool is_open_ = false;
};

}  // namespace assay::server
