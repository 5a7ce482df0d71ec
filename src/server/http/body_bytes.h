#pragma once
// The memory that the bodies of all requests at work take together.

#include <atomic>
#include <cstddef>

namespace assay::server {

// Thread-safe; a share is for one thread.
class BodyBytes {
 public:
  explicit BodyBytes(std::size_t max) : max_(max) {}

  // The share of one body, given back at its end.
  class Share {
   public:
    explicit Share(BodyBytes& all) : all_(all) {}
    ~Share() { all_.held_.fetch_sub(held_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    bool add(std::size_t bytes) {
      held_ += bytes;
      return all_.held_.fetch_add(bytes) + bytes <= all_.max_;
    }

   private:
    BodyBytes& all_;
    std::size_t held_ = 0;
  };

 private:
  const std::size_t max_;
  std::atomic<std::size_t> held_{0};
};

}  // namespace assay::server
