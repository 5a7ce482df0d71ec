#include "service/cue_states.h"

#include <algorithm>
#include <utility>

#include "decision/prompt.h"
#include "service/learning_rows.h"

namespace assay::service {

Result<CueStates> read_cue_states(Decider& decider, const Question& question, const std::vector<std::string>& cues,
                                  const std::vector<CueReading>& readings, const LearnOptions& options) {
  CueStates out(readings.size());
  Question asked = question;
  asked.cues = cues;
  asked.scored = false;
  const auto request_of = [&](std::size_t i) {
    return DecisionRequest{
        .state = *readings[i].state, .questions = {asked}, .lesson = "none", .priority = Priority::kBulk};
  };
  const auto where = [&](std::size_t i) { return readings[i].where; };
  const auto take = [&](std::size_t i, Answer answer) { out[i] = std::move(answer.cue_states); };
  const Status done =
      ask_all(decider, readings.size(), options.requests_at_once, request_of, where, take, "reading", options.progress);
  if (!done.ok()) return done.error();
  for (const std::vector<std::vector<float>>& states : out) {
    const bool none = std::any_of(states.begin(), states.end(), [](const auto& state) { return state.empty(); });
    if (none || states.size() != cues.size())
      return Error{ErrorCode::kUnsupportedModel, "This model gives no hidden states, so it cannot be taught.", "model"};
  }
  return out;
}

std::vector<Value> states_of_words(const Question& question) {
  std::vector<Value> states;
  for (const Option& option : question.options) states.emplace_back(decision::option_text(question, option));
  return states;
}

}  // namespace assay::service
