#pragma once
// What all that adds nodes to a ggml graph shares: how a node is added, and memory that its tasks point into.

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

struct ggml_tensor;  // NOLINT(readability-identifier-naming): their name

namespace assay::kernels {

using TaskFunction = void (*)(ggml_tensor* node, int thread, int threads, void* task);
using AddNode = std::function<void(TaskFunction, void*)>;

// Grows with what is needed. What it gave before stays where it is until it is dropped, since tasks of a graph may
// point into it. Not thread-safe.
class GrowingMemory {
 public:
  // Nobody points any more into what was given before the last need() that grew.
  void drop_old() { old_.clear(); }
  // At least so many bytes, on a cache line; the same that were given before, unless they are too few. nullptr: there
  // is no memory.
  std::byte* need(std::size_t bytes) {
    if (memory_ && bytes <= size_) return memory_.get();
    old_.push_back(std::move(memory_));
    size_ = (bytes * 5 / 4 / kPage + 1) * kPage;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, size_)));
    if (!memory_) size_ = 0;
    return memory_.get();
  }

 private:
  static constexpr std::size_t kPage = 4096;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<std::byte, Free>> old_;
};

}  // namespace assay::kernels
