// Bytes of a head are counted when they are handed out, not when they are received, so that a body that came with its
// head is not counted as head.
#include "server/http/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace assay::server {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kBufferBytes = 8 * 1024;
#ifdef POLLRDHUP
constexpr short kHalfClosed = POLLRDHUP;
#else
constexpr short kHalfClosed = 0;
#endif

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

// The events that came; 0 when the time was over.
short poll_one(int socket, short events, milliseconds longest) {
  const Clock::time_point end = Clock::now() + longest;
  pollfd entry{.fd = socket, .events = events, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    const int count = poll(&entry, 1, static_cast<int>(std::max<milliseconds::rep>(left.count(), 0)));
    if (count >= 0 || errno != EINTR) return count > 0 ? entry.revents : short{0};
  }
}

}  // namespace

bool is_peer_gone(int socket) {
  const short events = poll_one(socket, static_cast<short>(POLLIN | kHalfClosed), milliseconds(0));
  if ((events & (POLLERR | POLLHUP | POLLNVAL | kHalfClosed)) != 0) return true;
  if ((events & POLLIN) == 0) return false;
  char byte = 0;
  const ssize_t count = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

Connection::Connection(int socket, std::unique_ptr<Transport> transport, const ConnectionLimits& limits,
                       std::atomic<std::size_t>& open)
    : socket_(socket), transport_(std::move(transport)), limits_(limits), open_(open), began_(Clock::now()) {
  open_.fetch_add(1);
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

Connection::~Connection() {
  close(socket_);
  open_.fetch_sub(1);
}

bool Connection::shake_hands() {
  if (shaken_) return true;
  const Time deadline = Clock::now() + seconds(limits_.read_seconds);
  for (;;) {
    const Transport::Step step = transport_->shake_hands();
    if (step.state == Transport::State::kMoved) return shaken_ = true;
    if (step.state == Transport::State::kEnded || !wait_for(step.state, deadline)) return false;
  }
}

void Connection::begin_head() {
  began_ = Clock::now();
  head_bytes_ = body_bytes_ = bytes_written_ = 0;
  in_body_ = timed_out_ = false;
}

void Connection::begin_body() {
  began_ = Clock::now();
  in_body_ = true;
}

ssize_t Connection::read(char* to, std::size_t size) {
  if (begin_ == end_) {
    if (!in_body_ && head_too_big()) return -1;
    // Large pieces of a body need no buffer.
    if (size >= kBufferBytes && in_body_) {
      const ssize_t count = receive(to, size);
      if (count > 0) body_bytes_ += static_cast<std::size_t>(count);
      return count;
    }
    buffer_.resize(kBufferBytes);
    begin_ = end_ = 0;
    const ssize_t count = receive(buffer_.data(), buffer_.size());
    if (count <= 0) return count;
    end_ = static_cast<std::size_t>(count);
  }
  const std::size_t count = std::min(size, end_ - begin_);
  std::memcpy(to, buffer_.data() + begin_, count);
  consume(count);
  return static_cast<ssize_t>(count);
}

ssize_t Connection::receive(char* to, std::size_t size) {
  for (;;) {
    const Transport::Step step = transport_->receive(to, size);
    if (step.state == Transport::State::kMoved) return static_cast<ssize_t>(step.bytes);
    if (step.state == Transport::State::kEnded) return 0;
    if (!wait_for(step.state, read_deadline())) {
      timed_out_ = true;
      return -1;
    }
  }
}

Connection::Time Connection::read_deadline() const {
  const Time whole = began_ + seconds(limits_.read_seconds + static_cast<double>(body_bytes_) / kBytesPerSecondMin);
  return in_body_ ? std::min(whole, Clock::now() + seconds(limits_.read_seconds)) : whole;
}

bool Connection::wait_for(Transport::State wanted, Time deadline) {
  const auto longest = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  if (longest.count() <= 0) return false;
  return poll_one(socket_, wanted == Transport::State::kWantsWrite ? POLLOUT : POLLIN, longest) != 0;
}

bool Connection::write(std::string_view bytes) {
  const Time began = Clock::now();
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const Transport::Step step = transport_->send(bytes.data() + sent, bytes.size() - sent);
    if (step.state == Transport::State::kEnded) return false;
    if (step.state == Transport::State::kMoved) {
      sent += step.bytes;
      bytes_written_ += step.bytes;
      continue;
    }
    const Time whole = began + seconds(limits_.write_seconds + static_cast<double>(sent) / kBytesPerSecondMin);
    if (!wait_for(step.state, std::min(whole, Clock::now() + seconds(limits_.write_seconds)))) return false;
  }
  return true;
}

void Connection::try_write(std::string_view bytes) { transport_->send(bytes.data(), bytes.size()); }

std::string_view Connection::buffered() const { return {buffer_.data() + begin_, end_ - begin_}; }

void Connection::consume(std::size_t size) {
  begin_ += size;
  (in_body_ ? body_bytes_ : head_bytes_) += size;
}

bool Connection::has_bytes() const { return begin_ < end_ || transport_->holds_bytes(); }

bool Connection::wait_for_bytes(int ms) const { return poll_one(socket_, POLLIN, milliseconds(ms)) != 0; }

void Connection::rest() {
  if (begin_ < end_) return;
  begin_ = end_ = 0;
  std::vector<char>().swap(buffer_);
}

void Connection::finish(milliseconds longest) {
  const Time end = Clock::now() + longest;
  transport_->say_goodbye();
  shutdown(socket_, SHUT_WR);
  char thrown_away[4096];
  for (;;) {
    const ssize_t count = recv(socket_, thrown_away, sizeof(thrown_away), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return;
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    if (left.count() <= 0) return;
    if (count < 0 && poll_one(socket_, POLLIN, std::min(left, milliseconds(1000))) == 0) return;
  }
}

}  // namespace assay::server
