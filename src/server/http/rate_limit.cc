#include "server/http/rate_limit.h"

#include <algorithm>

namespace assay::server {

RateLimit::RateLimit(double per_minute, const Clock& clock, std::size_t clients_max)
    : per_second_(per_minute > 0 ? per_minute / 60 : 0),
      tokens_max_(std::max(per_minute, 1.0)),
      clients_max_(std::max<std::size_t>(clients_max, 1)),
      clock_(clock) {}

std::optional<double> RateLimit::take(const std::string& client) {
  if (!limits()) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t now_ns = clock_.now_ns();
  Bucket& bucket = bucket_of(client, now_ns);
  // What has come back since it was last looked at.
  const double seconds = static_cast<double>(now_ns - bucket.filled_ns) / 1e9;
  bucket.tokens = std::min(tokens_max_, bucket.tokens + seconds * per_second_);
  bucket.filled_ns = now_ns;
  // A token that is there but for rounding is there.
  constexpr double kRounding = 1e-9;
  if (bucket.tokens >= 1 - kRounding) {
    bucket.tokens = std::max(bucket.tokens - 1, 0.0);
    return std::nullopt;
  }
  return (1 - bucket.tokens) / per_second_;
}

RateLimit::Bucket& RateLimit::bucket_of(const std::string& client, std::int64_t now_ns) {
  const auto found = by_client_.find(client);
  if (found != by_client_.end()) {
    buckets_.splice(buckets_.begin(), buckets_, found->second);
    return found->second->second;
  }
  if (buckets_.size() >= clients_max_) {
    by_client_.erase(buckets_.back().first);
    buckets_.pop_back();
  }
  buckets_.emplace_front(client, Bucket{.tokens = tokens_max_, .filled_ns = now_ns});
  by_client_.emplace(client, buckets_.begin());
  return buckets_.front().second;
}

}  // namespace assay::server
