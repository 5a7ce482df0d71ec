#pragma once
// What a model reads before its hidden state is taken: a text that is about to name the answer.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "assay/decision.h"

namespace assay::decision {

// Where the state and the question's text go in a cue.
inline constexpr std::string_view kStateMark = "{state}";
inline constexpr std::string_view kQuestionMark = "{question}";

struct CueText {
  std::string text;
  std::size_t shared_bytes = 0;  // its first bytes that other cues of the same state can share: through the state's end
};

// The cue with its marks replaced, each wherever it stands; a mark inside of the state or the question stays as it is.
CueText cue_text(std::string_view cue, const Value& state, const Question& question);

// kInvalidArgument with field "cue" unless it names the state and is no longer than kCueBytesMax.
Status check_cue(std::string_view cue);
inline constexpr std::size_t kCueBytesMax = 4096;

// The cues that teaching tries. What stands before the answer is worth many points: it must be about to name the thing.
std::span<const std::string> built_in_cues();

}  // namespace assay::decision
