#include "service/prior_cache.h"

#include <utility>

namespace assay::service {

std::size_t PriorCache::Hash::operator()(const PriorKey* key) const {
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (const std::int32_t token : *key) hash = (hash ^ static_cast<std::uint32_t>(token)) * 1099511628211ULL;
  return hash;
}

PriorCache::Lookup PriorCache::begin(const PriorKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = by_key_.find(&key); found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return {.priors = found->second->priors};
  }
  if (const auto working = in_work_.find(key); working != in_work_.end()) return {.pending = working->second.pending};
  InWork& work = in_work_[key];
  work.pending = work.promise.get_future().share();
  return {.mine = true};
}

void PriorCache::finish(const PriorKey& key, std::shared_ptr<const Priors> priors) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto working = in_work_.find(key); working != in_work_.end()) {
    working->second.promise.set_value(priors);
    in_work_.erase(working);
  }
  if (!priors || key.size() > tokens_max_ || by_key_.contains(&key)) return;
  tokens_ += key.size();
  entries_.push_front({.key = key, .priors = std::move(priors)});
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
