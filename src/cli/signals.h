#pragma once
// SIGINT, SIGTERM and, unless it is ignored, SIGHUP as a value that can be looked at and waited for. No signal handler
// runs: a thread reads the signals from a descriptor.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "assay/error.h"

namespace assay::cli {

// Thread-safe. Until expect() is called a signal ends the process at once with 128 + its number. After it, the first
// signal makes stopped() true; the second, unless it is SIGHUP, ends the process at once with 130.
class SignalWatcher {
 public:
  // Blocks these signals in the calling thread and in all that it starts from now on: call it first, from main, once.
  static Result<std::unique_ptr<SignalWatcher>> open();
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  void expect() { expected_.store(true); }
  const std::atomic<bool>& stopped() const { return stopped_; }
  // Returns when stopped() is true. REQUIRES: expect() was called.
  void wait();

 private:
  SignalWatcher(int signal_fd, int end_fd);
  void watch();
  void take(unsigned number);

  const int signal_fd_;
  const int end_fd_;  // an eventfd that ends the thread
  std::atomic<bool> expected_{false};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace assay::cli
