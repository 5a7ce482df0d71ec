#pragma once
// Whole replies that were given before: the same request again costs a lookup instead of a computation.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "assay/decision.h"

namespace assay::service {

// Everything of a request that moves its answer, and nothing else, as bytes: the state; each question's id, text, type,
// options, cues and terms; readout, layout, lesson, explain, hidden_state, receipt and calibrated. Two requests have
// equal keys only if all of these are equal. REQUIRES: a request that validate_request() accepts.
std::string answer_key(const DecisionRequest& request);

// Thread-safe. Least recently used first out; two requests are the same only if their whole keys are, never by a hash
// alone. Only for deciders whose answer depends on the request alone (ModelReport::deterministic).
class AnswerCache {
 public:
  // Requests with a longer key are not kept, so that few long states do not take the place of many short ones.
  static constexpr std::size_t kKeyBytesMax = 256u * 1024;
  // All keys and replies together: explanations and hidden states make replies of any size.
  static constexpr std::size_t kBytesMax = std::size_t{256} * 1024 * 1024;

  // 0 entries: off. Nothing is kept, found or counted. A reply that is larger than `bytes_max` is not kept.
  explicit AnswerCache(std::size_t entries_max, std::size_t bytes_max = kBytesMax)
      : entries_max_(entries_max), bytes_max_(bytes_max) {}

  // A copy of the reply to the same request, with from_answer_cache set and nothing computed, cached or waited for.
  std::optional<DecisionReply> find(const DecisionRequest& request);
  // Keeps the reply as the most recent one. A reply that is there already stays.
  void insert(const DecisionRequest& request, const DecisionReply& reply);

  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::size_t size() const;
  std::size_t bytes() const;  // about

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const DecisionReply> reply;  // shared with whoever still copies it
    std::size_t bytes = 0;                       // of both
  };

  const std::size_t entries_max_;
  const std::size_t bytes_max_;
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  mutable std::mutex mutex_;                                                 // guards what follows
  std::size_t bytes_ = 0;                                                    // of all entries
  std::list<Entry> entries_;                                                 // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;  // views of the entries' keys
};

}  // namespace assay::service
