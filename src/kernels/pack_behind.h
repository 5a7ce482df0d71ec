#pragma once
// Weights that are packed while a start goes on with other things: whoever computes first waits for the rest, and
// helps.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::kernels {

class PackBehind {
 public:
  // Calls `pack(step)` once for each step in [0, steps), on `threads` threads of its own (0: all waits for finish()),
  // several steps at once. `progress`, which may be empty, gets the share that was begun, on one of the threads.
  PackBehind(std::int64_t steps, std::function<void(std::int64_t)> pack, std::int32_t threads,
             std::function<void(float)> progress);
  ~PackBehind();  // stop()
  PackBehind(const PackBehind&) = delete;
  PackBehind& operator=(const PackBehind&) = delete;

  // On return all steps are done; this thread takes its share of them. Thread-safe.
  void finish();
  // Ends after the steps in hand; the others are never done. Thread-safe.
  void stop();

 private:
  void work(bool tells);
  void join();

  const std::int64_t steps_;
  const std::function<void(std::int64_t)> pack_;
  const std::function<void(float)> progress_;
  std::atomic<std::int64_t> next_{0};
  std::mutex join_mutex_;
  std::vector<std::thread> threads_;  // guarded by join_mutex_
};

}  // namespace assay::kernels
