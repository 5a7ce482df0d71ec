#pragma once
// Time as a part that is handed in, so that tests own it.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace assay {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some fixed start; never goes back.
  virtual std::int64_t now_ns() const = 0;
  double ms_since(std::int64_t start_ns) const { return static_cast<double>(now_ns() - start_ns) / 1e6; }
};

class SteadyClock final : public Clock {
 public:
  std::int64_t now_ns() const override {
    const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count();
  }
};

// The one that whoever brings none of their own uses; lives as long as the program.
inline const Clock& steady_clock() {
  static const SteadyClock kClock;
  return kClock;
}

// For tests: stands still until it is advanced.
class ManualClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_ns_.load(); }
  void advance_ms(double ms) { now_ns_ += static_cast<std::int64_t>(ms * 1e6); }

 private:
  std::atomic<std::int64_t> now_ns_{0};
};

}  // namespace assay
