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
constexpr std::string_view kLettersQuestionFirstVersion = "direct-options-question-first-v1";
constexpr std::string_view kLettersSystem =
    "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
    "Respond with only its uppercase letter, with no explanation or reasoning.";
constexpr std::string_view kLettersBaseCue = "\nAnswer:";

// Text: system turn, what stands between state and question (in either order). Chosen on rows of our own
// (docs/readouts.md): of fifteen wordings the plainest was as good as any, and the mean over two answer leads and two
// neutral states was better than each alone.
constexpr std::string_view kTextVersion = "option-text-v1";
constexpr std::string_view kTextQuestionFirstVersion = "option-text-question-first-v1";
constexpr std::string_view kTextSystem;
constexpr std::string_view kTextBetween = "\n\n";
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

Value listed_options(const Question& question, std::span<const std::string> labels) {
  Value::Array options;
  options.reserve(question.options.size());
  for (std::size_t i = 0; i < question.options.size(); i++) {
    const Option& option = question.options[i];
    options.emplace_back(
        Value::Object{{"letter", Value(labels[i])}, {"description", Value(option.description.value_or(option.id))}});
  }
  return Value(std::move(options));
}

}  // namespace

Prompt letters_prompt(const Value& state, const Question& question, std::span<const std::string> labels,
                      Layout layout) {
  ASSAY_ASSERT(labels.size() >= question.options.size());
  ASSAY_ASSERT(layout != Layout::kAuto);
  const bool question_first = layout == Layout::kQuestionFirst;
  // What comes first is the prefix that requests share: one state's questions, or one question's states.
  Value::Object payload = {{"criterion", Value(question.text)}, {"options", listed_options(question, labels)}};
  const Value shared =
      question_first ? Value(payload) : Value(Value::Object{{"evidence", state}});  // the payload's first members
  constexpr std::string_view kBeforeQuestion = "{\"criterion\": \"";
  constexpr std::string_view kBeforeState = "{\"evidence\": ";
  const std::size_t before_state = kBeforeState.size() + (state.is_string() ? 1 : 0);  // a string's quote
  payload.insert(question_first ? payload.end() : payload.begin(), {"evidence", state});
  return Prompt{.system = std::string(kLettersSystem),
                .user = to_json_text(Value(std::move(payload))),
                .base_cue = std::string(kLettersBaseCue),
                .version = std::string(question_first ? kLettersQuestionFirstVersion : kLettersVersion),
                .fixed_bytes = question_first ? kBeforeQuestion.size() : before_state,
                .shared_bytes = to_json_text(shared).size() - 1};  // without the closing brace
}

Prompt text_prompt(const Value& state, const Question& question, Layout layout) {
  ASSAY_ASSERT(layout != Layout::kAuto);
  const bool question_first = layout == Layout::kQuestionFirst;
  std::string user = question_first ? question.text : to_display_text(state);
  const std::size_t shared_bytes = user.size();
  user += kTextBetween;
  user += question_first ? to_display_text(state) : question.text;
  return Prompt{.system = std::string(kTextSystem),
                .user = std::move(user),
                .base_cue = std::string(kTextBaseCue),
                .version = std::string(question_first ? kTextQuestionFirstVersion : kTextVersion),
                .shared_bytes = shared_bytes};
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
