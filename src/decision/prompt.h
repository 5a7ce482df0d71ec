#pragma once
// What a model is asked, for each readout. Only the words: the chat template and the tokens are the engine's business.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "assay/value.h"

namespace assay::decision {

struct Prompt {
  std::string system;    // the system turn; empty: none
  std::string user;      // the user turn
  std::string base_cue;  // what follows the user text when a model has no chat template
  std::string version;   // names the wording and the layout; it changes whenever a byte of it changes
  // The first bytes of `user` that the wording puts before the caller's first text, the same in all prompts of this
  // version whose first text is of the same kind (a string, or another JSON value).
  std::size_t fixed_bytes = 0;
  // The first bytes of `user` that other requests can share: all that depends on the layout's first part alone. State
  // first: through the end of the state; question first: through the end of the question, with the options that the
  // prompt lists. What is shared of the tokens ends there or before.
  std::size_t shared_bytes = 0;
  // Places of images: image i stands before byte image_slots[i] of `user`. Rising.
  std::vector<std::size_t> image_slots = {};
};

// The letters readout: options listed under labels[0], labels[1], ... in the question's order. State first it is to the
// byte SemIf's direct-options-v1; question first the same JSON object with the keys in the order criterion, options,
// evidence. An option without a description is described by its id as it is.
// REQUIRES: labels.size() >= question.options.size(); a request that validate_request() accepts; layout is not kAuto.
Prompt letters_prompt(const Value& state, const Question& question, std::span<const std::string> labels,
                      Layout layout = Layout::kStateFirst);

// The text readout: the state and the question in the layout's order, without the options. A string state is shown as
// it is, anything else as JSON text. REQUIRES: a request that validate_request() accepts; layout is not kAuto.
Prompt text_prompt(const Value& state, const Question& question, Layout layout = Layout::kStateFirst);

// The prompt with images in front of its user text: "NAME: ", the image and a line break for each, without "NAME: "
// where it has none. They are the same in every prompt of a request, so they belong to the fixed bytes. The version
// says so; without images the prompt stays as it is.
Prompt with_images(Prompt prompt, std::span<const Image> images);

// The states that say nothing. An option's prior is the mean of its scores after the same layout's text_prompt()
// for each.
std::span<const Value> neutral_states();

// What the assistant has said before an option's words are scored, for models with a chat template: once nothing, once
// "Answer:" (then a space follows). An option's score is the mean over them; the words before are not scored.
std::span<const std::string> answer_leads();

// The words that the text readout scores for an option: its description when there is one that is not empty;
// for a yes/no question "Yes" in place of the ids yes and true, "No" in place of no and false (ASCII case ignored);
// otherwise the id with '_' and '-' read as spaces. A '-' in front of a leading digit is a minus sign and stays, and an
// id that has nothing but separators stays as it is. Never empty when the id is not.
std::string option_text(const Question& question, const Option& option);

}  // namespace assay::decision
