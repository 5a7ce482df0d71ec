#pragma once
// Some tasks at once, on threads of their own that end with the call.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

// Calls task(0) .. task(count - 1), at most `threads` of them at once, each on any thread; 0 or 1: here, in order.
// Returns when all have ended. What the first one that failed threw is thrown then; std::system_error where no thread
// can be made. REQUIRES: tasks that may run beside each other.
template <class Task>
void in_parallel(std::size_t count, std::size_t threads, const Task& task) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards fault
  std::exception_ptr fault;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!fault) fault = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    while (others.size() + 1 < std::min(threads, count)) others.emplace_back(work);
    work();
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace assay
