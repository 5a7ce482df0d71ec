// A key of a decision's is "s/" and hidden_states_key(), of a lesson's own "r/NAME/", the state's SHA-256, '/' and the
// same.

#include "service/kept_states.h"

#include <bit>
#include <cmath>
#include <utility>

#include "base/log.h"
#include "base/sha256.h"

namespace assay::service {
namespace {

constexpr std::size_t kNumberBytes = 4;

// Every text stands behind its length, so no two readings can spell the same bytes.
void append_text(std::string& out, const std::string& text) { out += std::to_string(text.size()) + ":" + text; }

}  // namespace

std::string hidden_states_key(const std::string& bits, const std::string& question,
                              const std::vector<std::string>& cues, const std::string& state_sha256) {
  std::string text = "hidden states 1\n";
  append_text(text, bits);
  append_text(text, question);
  append_text(text, std::to_string(cues.size()));
  for (const std::string& cue : cues) append_text(text, cue);
  append_text(text, state_sha256);
  return sha256_hex(text);
}

std::string hidden_states_bytes(const HiddenStates::OfCues& states) {
  std::string out;
  for (const std::vector<float>& state : states) {
    for (const float number : state) {
      const auto bits = std::bit_cast<std::uint32_t>(number);
      for (std::size_t i = 0; i < kNumberBytes; i++) out += static_cast<char>((bits >> (8 * i)) & 0xFFU);
    }
  }
  return out;
}

std::optional<HiddenStates::OfCues> hidden_states_of(std::string_view bytes, std::size_t cues) {
  if (cues == 0 || bytes.empty() || bytes.size() % (kNumberBytes * cues) != 0) return std::nullopt;
  const std::size_t width = bytes.size() / kNumberBytes / cues;
  HiddenStates::OfCues out(cues);
  std::size_t at = 0;
  for (std::vector<float>& state : out) {
    state.reserve(width);
    for (std::size_t number = 0; number < width; number++, at += kNumberBytes) {
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < kNumberBytes; i++)
        bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
      const auto value = std::bit_cast<float>(bits);
      if (!std::isfinite(value)) return std::nullopt;
      state.push_back(value);
    }
  }
  return out;
}

store::StoredBytes kept_decision_states(const std::string& bits, const std::string& question,
                                        const std::vector<std::string>& cues, const std::string& state_sha256,
                                        const HiddenStates::OfCues& states) {
  return {.key = "s/" + hidden_states_key(bits, question, cues, state_sha256), .bytes = hidden_states_bytes(states)};
}

KeptStates::KeptStates(store::DecisionStore& store, std::string bits, const std::string& lesson)
    : store_(store), bits_(std::move(bits)), own_("r/" + lesson + "/") {}

std::optional<HiddenStates::OfCues> KeptStates::find(const Question& question, const std::vector<std::string>& cues,
                                                     const std::string& state_sha256) const {
  const std::string key = hidden_states_key(bits_, question.text, cues, state_sha256);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    asked_.insert(state_sha256);
  }
  for (const std::string& where : {"s/" + key, own_ + state_sha256 + "/" + key}) {
    const Result<std::optional<std::string>> bytes = store_.bytes(where);
    if (!bytes.ok() || !*bytes) continue;
    if (std::optional<OfCues> states = hidden_states_of(**bytes, cues.size())) return states;
  }
  return std::nullopt;
}

void KeptStates::keep(const Question& question, const std::vector<std::string>& cues, const std::vector<Read>& list) {
  std::vector<std::pair<std::string, store::StoredBytes>> bytes;
  for (const Read& one : list) {
    const std::string beginning = one.decision_id.empty() ? own_ + one.state_sha256 + "/" : "s/";
    const std::string key = hidden_states_key(bits_, question.text, cues, one.state_sha256);
    bytes.emplace_back(one.decision_id,
                       store::StoredBytes{.key = beginning + key, .bytes = hidden_states_bytes(one.states)});
  }
  if (bytes.empty()) return;
  const Status kept = store_.put_bytes(bytes);
  if (!kept.ok()) log_line(LogLevel::kWarn, "hidden states are not kept: " + kept.error().message);
}

void KeptStates::end() {
  std::set<std::string> asked;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    asked = asked_;
  }
  const Status erased = store_.erase_other_bytes(own_, asked);
  if (!erased.ok()) log_line(LogLevel::kWarn, "hidden states of gone rows are still kept: " + erased.error().message);
}

}  // namespace assay::service
