#pragma once
// One client's connection: reading and writing that wait, but never for ever.

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "server/http/transport.h"

namespace assay::server {

// How long a client may take. A head must be there so long after its first byte. A body, or a reply, may take so long
// plus a second for each kBytesPerSecondMin that moved, and never so long without a byte moving: whoever drips bytes is
// let go.
struct ConnectionLimits {
  double read_seconds = 60;
  double write_seconds = 60;
};
constexpr double kBytesPerSecondMin = 16 * 1024;
// Of a request line and its headers.
constexpr std::size_t kHeadBytesMax = 64 * 1024;

// True when the other side of the socket has closed, or has closed its sending side, even when bytes of it are still
// unread. May be called from any thread, and with a socket that is closed by now.
bool is_peer_gone(int socket);

// Used by one thread at a time.
class Connection {
 public:
  // Takes the socket over. `open` counts the connections that live; it must outlive this.
  Connection(int socket, std::unique_ptr<Transport> transport, const ConnectionLimits& limits,
             std::atomic<std::size_t>& open);
  // Closes at once.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  // Does what comes before the first request, once. False when that failed.
  bool shake_hands();

  // A request begins here, and here its body.
  void begin_head();
  void begin_body();
  // Some bytes; 0 when the client has closed; -1 when it took too long or its head is too big.
  ssize_t read(char* to, std::size_t size);
  // All of it, or false.
  bool write(std::string_view bytes);
  // What can be sent without waiting.
  void try_write(std::string_view bytes);

  // What has been received and not been read.
  std::string_view buffered() const;
  void consume(std::size_t size);
  // True when read() has bytes without waiting, as far as is known without asking the socket.
  bool has_bytes() const;
  // Waits so long for the next request; true when something came, be it the end.
  bool wait_for_bytes(int ms) const;
  // Gives memory back that only a request at work needs.
  void rest();

  bool timed_out() const { return timed_out_; }
  bool head_too_big() const { return head_bytes_ >= kHeadBytesMax; }
  // Since begin_head().
  std::size_t bytes_read() const { return head_bytes_ + body_bytes_; }
  std::size_t bytes_written() const { return bytes_written_; }

  // Ends the sending side, then throws away what the client still sends, for so long at most: a client that is sending
  // a body that nobody reads would otherwise not see the reply.
  void finish(std::chrono::milliseconds longest);

  // A connection above the limit, which is told so when its request comes.
  void mark_refused() { refused_ = true; }
  bool is_refused() const { return refused_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  ssize_t receive(char* to, std::size_t size);
  Time read_deadline() const;
  bool wait_for(Transport::State wanted, Time deadline);

  const int socket_;
  const std::unique_ptr<Transport> transport_;
  const ConnectionLimits limits_;
  std::atomic<std::size_t>& open_;
  std::vector<char> buffer_;  // received bytes are [begin_, end_); no memory while there are none
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Time began_;  // of the head, or of the body
  std::size_t head_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  std::size_t bytes_written_ = 0;
  bool in_body_ = false;
  bool shaken_ = false;
  bool timed_out_ = false;
  bool refused_ = false;
};

}  // namespace assay::server
