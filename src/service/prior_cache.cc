#include "service/prior_cache.h"

#include <utility>

namespace assay::service {

std::size_t PriorCache::Hash::operator()(const PriorKey* key) const {
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (const std::int32_t token : *key) hash = (hash ^ static_cast<std::uint32_t>(token)) * 1099511628211ULL;
  return hash;
}

std::shared_ptr<const Priors> PriorCache::find(const PriorKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_key_.find(&key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->priors;
}

void PriorCache::insert(PriorKey key, std::shared_ptr<const Priors> priors) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (key.size() > tokens_max_ || by_key_.contains(&key)) return;
  tokens_ += key.size();
  entries_.push_front({.key = std::move(key), .priors = std::move(priors)});
  by_key_.emplace(&entries_.front().key, entries_.begin());
  while (tokens_ > tokens_max_) {
    by_key_.erase(&entries_.back().key);
    tokens_ -= entries_.back().key.size();
    entries_.pop_back();
  }
}

std::size_t PriorCache::tokens() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tokens_;
}

std::size_t PriorCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

}  // namespace assay::service
