#pragma once
// Hidden states in the store of decisions.

#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "assay/teaching.h"
#include "store/decision_store.h"

namespace assay::service {

// Where the hidden states of one state behind these cues, read together, are kept: under the SHA-256 of everything
// that their bits depend on. `bits`: of the model's file, the build and the settings. (A request that reads them is
// the same for all that agree in these: one question, its cues, nothing scored.)
std::string hidden_states_key(const std::string& bits, const std::string& question,
                              const std::vector<std::string>& cues, const std::string& state_sha256);

// All numbers as 4 bytes each, little end first; and back: nothing when the bytes are not as many numbers for each cue,
// or one is not finite.
std::string hidden_states_bytes(const HiddenStates::OfCues& states);
std::optional<HiddenStates::OfCues> hidden_states_of(std::string_view bytes, std::size_t cues);

// What is kept of a decision when it is made: the bytes that KeptStates finds for it.
store::StoredBytes kept_decision_states(const std::string& bits, const std::string& question,
                                        const std::vector<std::string>& cues, const std::string& state_sha256,
                                        const HiddenStates::OfCues& states);

// Those of one fit of a lesson. A decision's go with it; those of the lesson's own rows and of its options' words are
// the lesson's and go with the first fit that does not ask for them. Thread-safe.
class KeptStates final : public HiddenStates {
 public:
  // `bits` as hidden_states_key(). The store outlives this.
  KeptStates(store::DecisionStore& store, std::string bits, const std::string& lesson);

  std::optional<OfCues> find(const Question& question, const std::vector<std::string>& cues,
                             const std::string& state_sha256) const override;
  void keep(const Question& question, const std::vector<std::string>& cues, const std::vector<Read>& list) override;
  // When the fit is done: what of the lesson's own it did not ask for is erased.
  void end();

 private:
  store::DecisionStore& store_;
  const std::string bits_;
  const std::string own_;     // how the lesson's own keys begin
  mutable std::mutex mutex_;  // guards what follows
  mutable std::set<std::string> asked_;
};

}  // namespace assay::service
