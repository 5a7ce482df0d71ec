// Which part of a request makes its prompt too long for the context. Counted in bytes: all parts are texts of one
// prompt, and their tokens are not told apart there.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "decision/prompt.h"
#include "service/question_plan.h"

namespace assay::service {
namespace {

std::size_t tokens_of(const QuestionPlan& plan) {
  std::size_t longest = 0;
  for (const std::vector<AnswerPath>& paths : plan.answers) {
    for (const AnswerPath& path : paths) longest = std::max(longest, path.lead.size() + path.tokens.size());
  }
  return plan.prompt.tokens.size() + longest;
}

// Of one question, below its own field; "state" where that is the longest.
std::string longest_of(const Value& state, const Question& question, Readout readout) {
  std::string field = "state";
  std::size_t most = to_display_text(state).size();
  const auto look = [&](std::size_t bytes, const std::string& name) {
    if (bytes <= most) return;
    most = bytes;
    field = name;
  };
  look(question.text.size(), ".text");
  std::size_t all = 0;
  for (std::size_t i = 0; i < question.options.size(); i++) {
    const Option& option = question.options[i];
    const std::size_t bytes = decision::option_text(question, option).size();
    all += bytes;
    const bool described = option.description.has_value() && !option.description->empty();
    look(bytes, ".options[" + std::to_string(i) + "]" + (described ? ".description" : ""));
  }
  // Text asks each option behind a prompt of its own; letters list them all.
  if (readout == Readout::kLetters && all > 2 * most) field = ".options";
  return field;
}

// A template may trim a turn.
std::size_t bytes_between_spaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string_view::npos ? 0 : text.find_last_not_of(kSpaces) + 1 - begin;
}

}  // namespace

std::optional<Error> surely_too_long(const DecisionRequest& request, Readout readout, std::int32_t context_tokens,
                                     const engine::Encoder& encoder) {
  if (context_tokens <= 0) return std::nullopt;
  const std::size_t state_bytes = bytes_between_spaces(to_display_text(request.state));
  for (std::size_t i = 0; i < request.questions.size(); i++) {
    const Question& question = request.questions[i];
    std::size_t longest = 0;
    for (const Option& option : question.options)
      longest = std::max(longest, bytes_between_spaces(decision::option_text(question, option)));
    const std::size_t rest = question.scored ? bytes_between_spaces(question.text) + longest : 0;
    const std::size_t tokens = encoder.tokens_min(state_bytes + rest);
    if (tokens <= static_cast<std::size_t>(context_tokens)) continue;
    const std::string part = question.scored ? longest_of(request.state, question, readout) : "state";
    return Error{ErrorCode::kTooLong,
                 "The prompt has at least " + std::to_string(tokens) + " tokens; the context window's limit is " +
                     std::to_string(context_tokens) + " (context_tokens).",
                 part == "state" ? part : "questions[" + std::to_string(i) + "]" + part};
  }
  return std::nullopt;
}

Error at_longest_part(const DecisionRequest& request, const std::vector<QuestionPlan>& plans, Error error) {
  if (error.code != ErrorCode::kTooLong || error.field != "state" || plans.empty()) return error;
  const auto longest = std::max_element(plans.begin(), plans.end(), [](const QuestionPlan& a, const QuestionPlan& b) {
    return tokens_of(a) < tokens_of(b);
  });
  const auto index = static_cast<std::size_t>(longest - plans.begin());
  const std::string part = longest_of(request.state, request.questions[index], longest->readout);
  if (part != "state") error.field = "questions[" + std::to_string(index) + "]" + part;
  return error;
}

}  // namespace assay::service
