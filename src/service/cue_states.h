#pragma once
// Hidden states of many states behind cues, read from a decider.

#include <string>
#include <vector>

#include "assay/teaching.h"

namespace assay::service {

// By state, then by cue: hidden_size numbers each.
using CueStates = std::vector<std::vector<std::vector<float>>>;

// What is read: a state, and how messages call it.
struct CueReading {
  const Value* state = nullptr;
  std::string where;
};

// Reads all of them, many at a time; nothing is scored. Errors: those of ask_all().
Result<CueStates> read_cue_states(Decider& decider, const Question& question, const std::vector<std::string>& cues,
                                  const std::vector<CueReading>& readings, const LearnOptions& options);

// For each option what it says of itself, as a state: the words that the text readout would score.
std::vector<Value> states_of_words(const Question& question);

}  // namespace assay::service
