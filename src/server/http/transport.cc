#include "server/http/transport.h"

#include <sys/socket.h>

#include <cerrno>

namespace assay::server {
namespace {

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(int socket) : socket_(socket) {}

  Step shake_hands() override { return {.state = State::kMoved}; }

  Step receive(char* to, std::size_t size) override {
    for (;;) {
      const ssize_t count = recv(socket_, to, size, 0);
      if (count > 0) return {.state = State::kMoved, .bytes = static_cast<std::size_t>(count)};
      if (count < 0 && errno == EINTR) continue;
      return {.state = count < 0 && must_wait() ? State::kWantsRead : State::kEnded};
    }
  }

  Step send(const char* from, std::size_t size) override {
    for (;;) {
      const ssize_t count = ::send(socket_, from, size, MSG_NOSIGNAL);
      if (count > 0) return {.state = State::kMoved, .bytes = static_cast<std::size_t>(count)};
      if (count < 0 && errno == EINTR) continue;
      return {.state = count < 0 && must_wait() ? State::kWantsWrite : State::kEnded};
    }
  }

  bool holds_bytes() const override { return false; }
  void say_goodbye() override {}

 private:
  static bool must_wait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

  const int socket_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(int socket) { return std::make_unique<PlainTransport>(socket); }

}  // namespace assay::server
