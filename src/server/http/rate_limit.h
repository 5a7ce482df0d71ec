#pragma once
// So many requests a minute for each client, and no more.
//
//   RateLimit limit(60, clock);
//   if (const std::optional<double> wait = limit.take(client)) ... 429 with Retry-After: *wait ...

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace assay::server {

// A bucket of tokens for each client: it holds a minute's worth (at least one), a request takes one, and they come back
// evenly. So a client that was quiet may send a burst of a whole minute's requests at once. Thread-safe. Keeps a
// reference to the clock.
class RateLimit {
 public:
  // Clients that are remembered. When one more comes, the one that was quiet longest is forgotten, and begins anew with
  // a full bucket; so memory is bounded whatever names clients give themselves.
  static constexpr std::size_t kClientsMax = 4096;

  // `per_minute` of 0 or less, or not a number: no limit.
  RateLimit(double per_minute, const Clock& clock, std::size_t clients_max = kClientsMax);
  RateLimit(const RateLimit&) = delete;
  RateLimit& operator=(const RateLimit&) = delete;

  bool limits() const { return per_second_ > 0; }

  // Takes a token of this client's; nothing when there was one. Otherwise the seconds, above 0, until there is one
  // again; a refused request takes nothing. All clients with the same name share a bucket, those without a name too.
  std::optional<double> take(const std::string& client);

 private:
  struct Bucket {
    double tokens = 0;
    std::int64_t filled_ns = 0;
  };
  using Entry = std::pair<std::string, Bucket>;

  Bucket& bucket_of(const std::string& client, std::int64_t now_ns);

  const double per_second_;
  const double tokens_max_;
  const std::size_t clients_max_;
  const Clock& clock_;
  std::mutex mutex_;          // guards what follows
  std::list<Entry> buckets_;  // the one that asked last is first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_client_;
};

}  // namespace assay::server
