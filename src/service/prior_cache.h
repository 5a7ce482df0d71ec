#pragma once
// Option priors that were computed before: a question and its options have the same prior whatever the state, so a
// stream of states against one question pays for it once.

#include <cstddef>
#include <cstdint>
#include <future>
#include <list>
#include <map>
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

// Thread-safe. Least recently used first out; bounded by the tokens of its keys. What many ask for at once is computed
// by the first of them.
class PriorCache {
 public:
  using Pending = std::shared_future<std::shared_ptr<const Priors>>;
  struct Lookup {
    std::shared_ptr<const Priors> priors;  // there already
    Pending pending;                       // valid: another computes them; nullptr comes out when it could not
    bool mine = false;  // neither: the caller computes them and calls finish() once, whatever happens
  };

  explicit PriorCache(std::size_t tokens_max) : tokens_max_(tokens_max) {}

  Lookup begin(const PriorKey& key);
  // `priors` nullptr: they could not be computed.
  void finish(const PriorKey& key, std::shared_ptr<const Priors> priors);

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

  struct InWork {
    std::promise<std::shared_ptr<const Priors>> promise;
    Pending pending;
  };

  const std::size_t tokens_max_;
  mutable std::mutex mutex_;  // guards what follows
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<const PriorKey*, std::list<Entry>::iterator, Hash, Equal> by_key_;
  std::map<PriorKey, InWork> in_work_;
  std::size_t tokens_ = 0;
};

}  // namespace assay::service
