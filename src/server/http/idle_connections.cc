// The watching thread owns what it watches; others hand connections over through `added_`. A byte in the pipe wakes it.
// When the pipe is full a byte is lost, which is no harm: it wakes anyway.
#include "server/http/idle_connections.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace assay::server {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void set_flags(int file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
  fcntl(file, F_SETFD, FD_CLOEXEC);
}

}  // namespace

IdleConnections::IdleConnections(std::function<void(std::unique_ptr<Connection>)> on_ready)
    : on_ready_(std::move(on_ready)) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  wake_read_ = ends[0];
  wake_write_ = ends[1];
  set_flags(wake_read_);
  set_flags(wake_write_);
  thread_ = std::thread([this] { watch(); });
}

IdleConnections::~IdleConnections() {
  stop();
  close(wake_read_);
  close(wake_write_);
}

void IdleConnections::add(std::unique_ptr<Connection> connection, double seconds_max) {
  connection->rest();
  const auto longest = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_max));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopped_) return;
    added_.push_back({.connection = std::move(connection), .closes_at = Clock::now() + longest});
  }
  wake();
}

void IdleConnections::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    added_.clear();
  }
  wake();
  std::call_once(joined_, [this] { thread_.join(); });
}

void IdleConnections::wake() const {
  const char byte = 0;
  while (write(wake_write_, &byte, 1) < 0 && errno == EINTR) {
  }
}

void IdleConnections::drain_wakes() const {
  std::array<char, 256> bytes = {};
  while (read(wake_read_, bytes.data(), bytes.size()) > 0) {
  }
}

std::vector<IdleConnections::Entry> IdleConnections::take_added() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(added_, {});
}

void IdleConnections::watch() {
  std::vector<Entry> entries;
  // polled[0] is the pipe, polled[i + 1] is entries[i].
  std::vector<pollfd> polled = {{.fd = wake_read_, .events = POLLIN, .revents = 0}};
  Time next_close = Time::max();
  for (;;) {
    int wait_ms = -1;
    if (next_close != Time::max()) {
      const auto left = std::chrono::ceil<milliseconds>(next_close - Clock::now()).count();
      wait_ms = static_cast<int>(std::clamp<milliseconds::rep>(left, 0, 60'000));
    }
    if (poll(polled.data(), polled.size(), wait_ms) < 0) continue;
    // Who has something, and whose time is over, leaves; the last one takes the place.
    const Time now = Clock::now();
    next_close = Time::max();
    for (std::size_t i = entries.size(); i-- > 0;) {
      const bool is_ready = polled[i + 1].revents != 0;
      if (!is_ready && entries[i].closes_at > now) {
        next_close = std::min(next_close, entries[i].closes_at);
        continue;
      }
      if (is_ready) on_ready_(std::move(entries[i].connection));
      entries[i] = std::move(entries.back());
      entries.pop_back();
      polled[i + 1] = polled.back();
      polled.pop_back();
    }
    if (polled[0].revents == 0) continue;
    drain_wakes();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopped_) return;
    }
    for (Entry& entry : take_added()) {
      next_close = std::min(next_close, entry.closes_at);
      polled.push_back({.fd = entry.connection->socket(), .events = POLLIN, .revents = 0});
      entries.push_back(std::move(entry));
    }
  }
}

}  // namespace assay::server
