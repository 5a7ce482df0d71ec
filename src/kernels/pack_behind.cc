#include "kernels/pack_behind.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace assay::kernels {

PackBehind::PackBehind(std::int64_t steps, std::function<void(std::int64_t)> pack, std::int32_t threads,
                       std::function<void(float)> progress)
    : steps_(steps), pack_(std::move(pack)), progress_(std::move(progress)) {
  try {
    for (std::int32_t i = 0; i < threads; i++) threads_.emplace_back([this, i] { work(i == 0); });
  } catch (const std::system_error& error) {
    log_line(LogLevel::kWarn, "packing goes on with " + std::to_string(threads_.size()) + " of " +
                                  std::to_string(threads) + " threads: " + error.what());
  }
}

PackBehind::~PackBehind() { stop(); }

void PackBehind::work(bool tells) {
  for (std::int64_t step = next_++; step < steps_; step = next_++) {
    pack_(step);
    if (tells && progress_) progress_(static_cast<float>(step + 1) / static_cast<float>(steps_));
  }
}

// Under the lock, so that nobody returns before the steps in other hands are done.
void PackBehind::join() {
  const std::lock_guard<std::mutex> lock(join_mutex_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void PackBehind::finish() {
  {
    const std::lock_guard<std::mutex> lock(join_mutex_);
    work(threads_.empty());
  }
  join();
}

void PackBehind::stop() {
  next_ = steps_;
  join();
}

}  // namespace assay::kernels
