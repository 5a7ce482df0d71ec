#pragma once
// A question from flags: --question with --option, --yes-no or --scale.

#include <string>
#include <vector>

#include "assay/decision.h"
#include "cli/option_spec.h"

namespace assay::cli {

struct QuestionFlags {
  std::string question;
  std::vector<std::string> options;  // "ID" or "ID=DESCRIPTION"
  bool yes_no = false;
  std::string scale{};  // "0..5" or "bad,ok,good"

  bool any() const { return !question.empty() || !options.empty() || yes_no || !scale.empty(); }
};

std::vector<OptionSpec> question_options(QuestionFlags& flags);

// --layout: in which order the prompt tells state and question. Fills *layout with one of layout_name()'s names, the
// text before is the default.
OptionSpec layout_option(std::string* layout);
// What such a name means for a decider, DeciderOptions::layout: "auto" is its default.
Layout layout_setting(const std::string& name);

// Errors: no question, no options, or more than one way to give the options.
Result<Question> question_from_flags(const QuestionFlags& flags);

// "refund=Wants money back" is the id "refund" with a description; the first '=' splits, nothing is trimmed.
Option option_from_text(const std::string& text);

// "0..5": the levels 0 to 5. "bad,ok,good": the levels 0, 1, 2 with these texts.
Result<std::vector<Option>> scale_from_text(const std::string& text);

}  // namespace assay::cli
