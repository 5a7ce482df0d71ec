#include "decision/cue.h"

#include <utility>
#include <vector>

namespace assay::decision {

CueText cue_text(std::string_view cue, const Value& state, const Question& question) {
  const std::string shown = to_display_text(state);
  CueText out;
  while (!cue.empty()) {
    const std::size_t mark = cue.find('{');
    out.text += cue.substr(0, mark);
    if (mark == std::string_view::npos) break;
    cue.remove_prefix(mark);
    if (cue.starts_with(kStateMark)) {
      out.text += shown;
      out.shared_bytes = out.text.size();
      cue.remove_prefix(kStateMark.size());
    } else if (cue.starts_with(kQuestionMark)) {
      out.text += question.text;
      cue.remove_prefix(kQuestionMark.size());
    } else {
      out.text += '{';
      cue.remove_prefix(1);
    }
  }
  return out;
}

Status check_cue(std::string_view cue) {
  if (cue.find(kStateMark) == std::string_view::npos)
    return invalid_argument("cue", "A cue says where the state goes: it has \"{state}\" in it.");
  if (cue.size() > kCueBytesMax)
    return invalid_argument("cue", "A cue has at most " + std::to_string(kCueBytesMax) + " bytes; this one has " +
                                       std::to_string(cue.size()) + ".");
  return {};
}

std::span<const std::string> built_in_cues() {
  static const std::vector<std::string> kCues = {
      "Customer message: {state}\nThe customer is asking about the",
      "Message: {state}\nThe message is about",
      "The message \"{state}\" expresses, in one word, the intent:",
      "{state}\n{question}\nAnswer:",
  };
  return kCues;
}

}  // namespace assay::decision
