#include "cli/question_flags.h"

#include <algorithm>
#include <utility>

#include "assay/options.h"

namespace assay::cli {
namespace {

constexpr std::int64_t kLevelLimit = 1'000'000;

}  // namespace

std::vector<OptionSpec> question_options(QuestionFlags& flags) {
  std::vector<OptionSpec> out;
  out.push_back(with_short_name(text_option("question", "TEXT", "The question", &flags.question), "q"));
  out.push_back(
      list_option("option", "ID[=DESCRIPTION]", "A possible answer and what it means; once for each", &flags.options));
  out.push_back(switch_option("yes-no", "The options are yes and no", &flags.yes_no));
  out.push_back(text_option(
      "scale", "LEVELS", "The options are levels: 0..5, or their texts from low to high: bad,ok,good", &flags.scale));
  for (OptionSpec& spec : out) spec.configurable = false;
  return out;
}

OptionSpec layout_option(std::string* layout) {
  return choice_option("layout",
                       "What the prompt tells first; auto: the state. It changes the answer ('assay eval "
                       "--compare-layouts' shows how much)",
                       {"auto", "state_first", "question_first"}, layout);
}

Layout layout_setting(const std::string& name) {
  const Layout layout = layout_from_name(name).value_or(Layout::kAuto);
  return layout == Layout::kAuto ? DeciderOptions{}.layout : layout;
}

Option option_from_text(const std::string& text) {
  const std::size_t split = text.find('=');
  if (split == std::string::npos) return {text, std::nullopt};
  return {text.substr(0, split), text.substr(split + 1)};
}

Result<std::vector<Option>> scale_from_text(const std::string& text) {
  std::vector<Option> out;
  // With a comma they are texts, which may have dots of their own.
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos && text.find(',') == std::string::npos) {
    const auto low = parse_whole_number("--scale", text.substr(0, dots), -kLevelLimit, kLevelLimit);
    if (!low.ok()) return low.error();
    const auto high = parse_whole_number("--scale", text.substr(dots + 2), -kLevelLimit, kLevelLimit);
    if (!high.ok()) return high.error();
    if (*high < *low) return invalid_argument("--scale", "--scale goes from low to high, and '" + text + "' does not");
    for (std::int64_t level = *low; level <= *high; ++level) out.push_back({std::to_string(level), std::nullopt});
    return out;
  }
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) return invalid_argument("--scale", "--scale has an empty level");
    out.push_back({std::to_string(out.size()), text.substr(begin, end - begin)});
    begin = end + 1;
  }
  return out;
}

Result<Question> question_from_flags(const QuestionFlags& flags) {
  if (flags.question.empty()) return invalid_argument("--question", "--question is missing");
  const int ways = (flags.options.empty() ? 0 : 1) + (flags.yes_no ? 1 : 0) + (flags.scale.empty() ? 0 : 1);
  if (ways != 1) {
    return invalid_argument("--option", "give the options in one way: --option (once for each), --yes-no or --scale");
  }
  Question question;
  question.id = "q";
  question.text = flags.question;
  if (flags.yes_no) {
    question.type = QuestionType::kYesNo;
    question.options = {{"yes", std::nullopt}, {"no", std::nullopt}};
    return question;
  }
  if (!flags.scale.empty()) {
    Result<std::vector<Option>> levels = scale_from_text(flags.scale);
    if (!levels.ok()) return levels.error();
    question.type = QuestionType::kScale;
    question.options = std::move(*levels);
    return question;
  }
  for (const std::string& text : flags.options) question.options.push_back(option_from_text(text));
  return question;
}

}  // namespace assay::cli
