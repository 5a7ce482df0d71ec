#pragma once
// Option priors that were computed before: a question and its options have the same prior whatever the state, so a
// stream of states against one question pays for it once.

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace assay::service {

// The tokens of the neutral prompt, then those of each option, each list closed by -1. Two keys are equal only if every
// token is.
using PriorKey = std::vector<std::int32_t>;
// For each option the log-probability of each of its tokens after the neutral prompt.
using Priors = std::vector<std::vector<double>>;

// Thread-safe. Least recently used first out; bounded by the tokens of its keys.
class PriorCache {
 public:
  explicit PriorCache(std::size_t tokens_max) : tokens_max_(tokens_max) {}

  std::shared_ptr<const Priors> find(const PriorKey& key);  // shared by the cache and by whoever still reads it
  void insert(PriorKey key, std::shared_ptr<const Priors> priors);

  std::size_t tokens() const;
  std::size_t size() const;

 private:
  struct Entry {
    PriorKey key;
    std::shared_ptr<const Priors> priors;
  };
  struct Hash {
    std::size_t operator()(const PriorKey* key) const;
  };
  struct Equal {
    bool operator()(const PriorKey* a, const PriorKey* b) const { return *a == *b; }
  };

  const std::size_t tokens_max_;
  mutable std::mutex mutex_;  // guards what follows
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<const PriorKey*, std::list<Entry>::iterator, Hash, Equal> by_key_;
  std::size_t tokens_ = 0;
};

}  // namespace assay::service
