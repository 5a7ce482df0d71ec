#pragma once
// The bytes of one client's socket, plain or encrypted. Nothing here waits: connection.h does.

#include <cstddef>
#include <memory>

namespace assay::server {

// Used by one thread at a time. The socket is non-blocking and somebody else's to close.
class Transport {
 public:
  enum class State {
    kMoved,       // `bytes` of them, at least one
    kWantsRead,   // try again when the socket can be read
    kWantsWrite,  // try again when it can be written
    kEnded,       // the other side has closed, or the socket broke
  };
  struct Step {
    State state = State::kEnded;
    std::size_t bytes = 0;
  };

  virtual ~Transport() = default;
  // Before the first byte, until it gives kMoved.
  virtual Step shake_hands() = 0;
  virtual Step receive(char* to, std::size_t size) = 0;
  virtual Step send(const char* from, std::size_t size) = 0;
  // True when receive() has bytes that the socket no longer shows.
  virtual bool holds_bytes() const = 0;
  // Tells the other side, if it can be told at once, that nothing more comes.
  virtual void say_goodbye() = 0;
};

std::unique_ptr<Transport> plain_transport(int socket);

}  // namespace assay::server
