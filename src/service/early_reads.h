#pragma once
// A job's numbers as they come, handed from the engine's thread to the one that waits for them.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "engine/job.h"
#include "service/job_builder.h"

namespace assay::service {

// put() from the engine's thread, all else from one other.
class EarlyReads {
 public:
  explicit EarlyReads(std::size_t reads) : there_(reads, false) { result_.reads.resize(reads); }

  // A read that comes again is the same.
  void put(std::size_t read, const engine::ReadResult& numbers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (there_[read]) return;
    result_.reads[read] = numbers;
    there_[read] = true;
    news_ = true;
    changed_.notify_one();
  }

  // Waits until something came since the last call, but not longer than this.
  void wait_for(std::chrono::milliseconds time) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, time, [this] { return news_; });
    news_ = false;
  }

  bool has_all(const std::vector<std::vector<TokenRead>>& reads, const std::vector<std::size_t>& others = {}) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::size_t read : others) {
      if (!there_[read]) return false;
    }
    for (const std::vector<TokenRead>& tokens : reads) {
      for (const TokenRead& token : tokens) {
        if (!there_[token.read]) return false;
      }
    }
    return true;
  }

  // Of what has_all() found; the rest is being written.
  const engine::JobResult& result() const { return result_; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> there_;
  bool news_ = false;
  engine::JobResult result_;
};

}  // namespace assay::service
