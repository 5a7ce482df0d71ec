#include "service/cue_states.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "decision/prompt.h"
#include "service/learning_rows.h"

namespace assay::service {
namespace {

// So many states are read and kept at a time: what was read is not lost when the rest is stopped.
constexpr std::size_t kKeptAtOnce = 256;

std::string sha256_of(const CueReading& reading) {
  if (!reading.state_sha256.empty() || reading.state == nullptr) return reading.state_sha256;
  return sha256_hex(to_json_text(*reading.state));
}

// Which of the readings are not kept; the others are put where they belong.
std::vector<std::size_t> take_kept(const Question& question, const std::vector<std::string>& cues,
                                   const std::vector<CueReading>& readings, const HiddenStates* kept, CueStates& out) {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < readings.size(); i++) {
    std::optional<HiddenStates::OfCues> found;
    if (kept != nullptr) found = kept->find(question, cues, sha256_of(readings[i]));
    if (found) {
      out[i] = std::move(*found);
    } else {
      missing.push_back(i);
    }
  }
  return missing;
}

bool has_none(const HiddenStates::OfCues& states, std::size_t cues) {
  return states.size() != cues ||
         std::any_of(states.begin(), states.end(), [](const auto& one) { return one.empty(); });
}

}  // namespace

Result<ReadCueStates> read_cue_states(Decider& decider, const Question& question, const std::vector<std::string>& cues,
                                      const std::vector<CueReading>& readings, const LearnOptions& options,
                                      HiddenStates* kept) {
  ReadCueStates out;
  out.states.resize(readings.size());
  const std::vector<std::size_t> missing = take_kept(question, cues, readings, kept, out.states);
  out.read = missing.size();
  out.kept = readings.size() - missing.size();
  for (const std::size_t i : missing) {
    if (readings[i].state == nullptr)
      return invalid_argument("rows",
                              readings[i].where + ": its state is not kept, and its hidden states are not, either");
  }
  Question asked = question;
  asked.cues = cues;
  asked.scored = false;
  for (std::size_t first = 0; first < missing.size(); first += kKeptAtOnce) {
    const std::size_t count = std::min(kKeptAtOnce, missing.size() - first);
    const auto request_of = [&](std::size_t i) {
      return DecisionRequest{.state = *readings[missing[first + i]].state,
                             .questions = {asked},
                             .lesson = "none",
                             .priority = Priority::kBulk};
    };
    const auto where = [&](std::size_t i) { return readings[missing[first + i]].where; };
    const auto take = [&](std::size_t i, Answer answer) {
      out.states[missing[first + i]] = std::move(answer.cue_states);
    };
    const auto tell = [&](const char* step, std::size_t done, std::size_t) {
      return options.progress && options.progress(step, first + done, missing.size());
    };
    const Status done = ask_all(decider, count, options.requests_at_once, request_of, where, take, "reading", tell);
    if (!done.ok()) return done.error();
    std::vector<HiddenStates::Read> read;
    for (std::size_t i = first; i < first + count; i++) {
      const CueReading& reading = readings[missing[i]];
      if (has_none(out.states[missing[i]], cues.size()))
        return Error{ErrorCode::kUnsupportedModel, "This model gives no hidden states, so it cannot be taught.",
                     "model"};
      if (kept != nullptr) {
        read.push_back(
            {.state_sha256 = sha256_of(reading), .decision_id = reading.decision_id, .states = out.states[missing[i]]});
      }
    }
    if (kept != nullptr) kept->keep(question, cues, read);
  }
  return out;
}

std::vector<Value> states_of_words(const Question& question) {
  std::vector<Value> states;
  for (const Option& option : question.options) states.emplace_back(decision::option_text(question, option));
  return states;
}

}  // namespace assay::service
