#include "cli/signals.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace assay::cli {

Result<std::unique_ptr<SignalWatcher>> SignalWatcher::open() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  // A terminal that closes ends as SIGTERM does, unless the caller wanted it ignored (nohup).
  struct sigaction hang_up = {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return Error{ErrorCode::kIo, "signals cannot be blocked", ""};
  const int signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
  const int end_fd = eventfd(0, EFD_CLOEXEC);
  if (signal_fd < 0 || end_fd < 0) {
    const std::string why = std::strerror(errno);
    if (signal_fd >= 0) close(signal_fd);
    if (end_fd >= 0) close(end_fd);
    return Error{ErrorCode::kIo, "signals cannot be watched: " + why, ""};
  }
  return std::unique_ptr<SignalWatcher>(new SignalWatcher(signal_fd, end_fd));
}

SignalWatcher::SignalWatcher(int signal_fd, int end_fd)
    : signal_fd_(signal_fd), end_fd_(end_fd), thread_([this] { watch(); }) {}

SignalWatcher::~SignalWatcher() {
  const std::uint64_t one = 1;
  // An eventfd's counter is at 0 here, so the write always fits.
  const ssize_t written = write(end_fd_, &one, sizeof one);
  static_cast<void>(written);
  thread_.join();
  close(signal_fd_);
  close(end_fd_);
}

void SignalWatcher::watch() {
  std::array<pollfd, 2> ready = {pollfd{signal_fd_, POLLIN, 0}, pollfd{end_fd_, POLLIN, 0}};
  while (true) {
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    if ((ready[1].revents & POLLIN) != 0) return;
    if ((ready[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo signal{};
    if (read(signal_fd_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) take(signal.ssi_signo);
  }
}

void SignalWatcher::take(unsigned number) {
  if (!expected_.load()) _exit(static_cast<int>(128 + number));
  // A shell may pass on what the terminal said to all; that is not somebody who cannot wait.
  if (stopped_.load() && number == SIGHUP) return;
  if (stopped_.load()) _exit(130);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_.store(true);
  }
  changed_.notify_all();
}

void SignalWatcher::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return stopped_.load(); });
}

}  // namespace assay::cli
