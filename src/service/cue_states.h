#pragma once
// Hidden states of many states behind cues, read from a decider or taken from those that were kept.

#include <string>
#include <vector>

#include "assay/teaching.h"

namespace assay::service {

// By state, then by cue: hidden_size numbers each.
using CueStates = std::vector<HiddenStates::OfCues>;

// What is read: a state, and how messages call it.
struct CueReading {
  const Value* state = nullptr;  // null: its text is not known, and kept hidden states must do
  std::string where;
  std::string state_sha256 = {};  // of the state's JSON text; empty: computed where it is needed
  std::string decision_id = {};   // HiddenStates::Read
};

struct ReadCueStates {
  CueStates states;
  std::size_t read = 0;  // states that were computed
  std::size_t kept = 0;  // states that were there
};

// All of them, many at a time; nothing is scored. What is not in `kept` is read and put there; null: all are read.
// Errors: those of ask_all(); kInvalidArgument for a state that is neither known nor kept.
Result<ReadCueStates> read_cue_states(Decider& decider, const Question& question, const std::vector<std::string>& cues,
                                      const std::vector<CueReading>& readings, const LearnOptions& options,
                                      HiddenStates* kept);

// For each option what it says of itself, as a state: the words that the text readout would score.
std::vector<Value> states_of_words(const Question& question);

}  // namespace assay::service
