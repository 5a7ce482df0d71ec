// The wording of the prompts. Stored answers, stored checks and fitted temperatures depend on every byte here:
// a change of wording needs a new version name.

#include "decision/prompt.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace assay::decision {
namespace {

// Letters. The sentence and the layout are SemIf's (MIT, Copyright (c) 2026 TheoLeeCJ).
constexpr std::string_view kLettersVersion = "direct-options-v1";
constexpr std::string_view kLettersSystem =
    "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
    "Respond with only its uppercase letter, with no explanation or reasoning.";
constexpr std::string_view kLettersBaseCue = "\nAnswer:";

// Text: system turn, what stands between state and question, what follows the question. Chosen on rows of our own
// (docs/readouts.md): of fifteen wordings the plainest was as good as any, and the mean over two answer leads and two
// neutral states was better than each alone.
constexpr std::string_view kTextVersion = "option-text-v1";
constexpr std::string_view kTextSystem;
constexpr std::string_view kTextBeforeQuestion = "\n\n";
constexpr std::string_view kTextAfterQuestion;
constexpr std::string_view kTextBaseCue = "\nAnswer:";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_separator(char c) { return c == '_' || c == '-'; }

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}

std::string id_as_words(std::string_view id) {
  std::string words(id);
  if (std::all_of(id.begin(), id.end(), is_separator)) return words;
  const bool negative = id.size() > 1 && id[0] == '-' && is_digit(id[1]);
  std::replace_if(words.begin() + (negative ? 1 : 0), words.end(), is_separator, ' ');
  return words;
}

}  // namespace

Prompt letters_prompt(const Value& state, const Question& question, std::span<const std::string> labels) {
  ASSAY_ASSERT(labels.size() >= question.options.size());
  Value::Array options;
  options.reserve(question.options.size());
  for (std::size_t i = 0; i < question.options.size(); i++) {
    const Option& option = question.options[i];
    options.emplace_back(
        Value::Object{{"letter", Value(labels[i])}, {"description", Value(option.description.value_or(option.id))}});
  }
  // The evidence comes first, so that all questions about one state share it as a prefix.
  const Value payload(
      Value::Object{{"evidence", state}, {"criterion", Value(question.text)}, {"options", Value(std::move(options))}});
  return Prompt{.system = std::string(kLettersSystem),
                .user = to_json_text(payload),
                .base_cue = std::string(kLettersBaseCue),
                .version = std::string(kLettersVersion)};
}

Prompt text_prompt(const Value& state, const Question& question) {
  std::string user = to_display_text(state);
  user += kTextBeforeQuestion;
  user += question.text;
  user += kTextAfterQuestion;
  return Prompt{.system = std::string(kTextSystem),
                .user = std::move(user),
                .base_cue = std::string(kTextBaseCue),
                .version = std::string(kTextVersion)};
}

std::span<const Value> neutral_states() {
  static const std::vector<Value> kStates = {Value("N/A"), Value("")};
  return kStates;
}

std::span<const std::string> answer_leads() {
  static const std::vector<std::string> kLeads = {"", "Answer:"};
  return kLeads;
}

std::string option_text(const Question& question, const Option& option) {
  if (option.description.has_value() && !option.description->empty()) return *option.description;
  if (question.type == QuestionType::kYesNo) {
    if (equals_ignoring_case(option.id, "yes") || equals_ignoring_case(option.id, "true")) return "Yes";
    if (equals_ignoring_case(option.id, "no") || equals_ignoring_case(option.id, "false")) return "No";
  }
  return id_as_words(option.id);
}

}  // namespace assay::decision
