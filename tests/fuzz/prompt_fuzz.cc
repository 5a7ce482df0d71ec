// Fuzzes the prompt builder: any body that the wire and the domain accept becomes the prompts of both readouts in both
// layouts. They must be UTF-8, the same each time, hold what they are made of, and begin with what they say is shared.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "assay/decision.h"
#include "assay/value.h"
#include "base/assert.h"
#include "base/utf8.h"
#include "decision/labels.h"
#include "decision/prompt.h"
#include "server/wires/wire.h"

namespace {

using assay::Layout;
using assay::Question;
using assay::Value;
using assay::decision::Prompt;

Prompt prompt_of(const Value& state, const Question& question, Layout layout, bool letters) {
  if (!letters) return assay::decision::text_prompt(state, question, layout);
  return assay::decision::letters_prompt(state, question, assay::decision::label_codes(), layout);
}

bool same(const Prompt& a, const Prompt& b) {
  return a.system == b.system && a.user == b.user && a.base_cue == b.base_cue && a.version == b.version &&
         a.shared_bytes == b.shared_bytes;
}

std::string_view shared_of(const Prompt& prompt) {
  return std::string_view(prompt.user).substr(0, prompt.shared_bytes);
}

// What is shared does not depend on the layout's second part.
void check_shared(const Value& state, const Question& question, Layout layout, bool letters) {
  const Prompt prompt = prompt_of(state, question, layout, letters);
  ASSAY_ASSERT(prompt.shared_bytes <= prompt.user.size());
  Question other_question = question;
  other_question.text += "?";
  const Prompt other = layout == Layout::kStateFirst
                           ? prompt_of(state, other_question, layout, letters)
                           : prompt_of(Value(assay::to_json_text(state) + "."), question, layout, letters);
  ASSAY_ASSERT(shared_of(prompt) == shared_of(other));
  ASSAY_ASSERT(prompt.user != other.user);
}

void check(const Value& state, const Question& question, Layout layout, bool letters) {
  const Prompt prompt = prompt_of(state, question, layout, letters);
  ASSAY_ASSERT(same(prompt, prompt_of(state, question, layout, letters)));
  ASSAY_ASSERT(!assay::first_invalid_utf8(prompt.system).has_value());
  ASSAY_ASSERT(!assay::first_invalid_utf8(prompt.user).has_value());
  ASSAY_ASSERT(!prompt.user.empty() && !prompt.version.empty());
  if (!letters && state.is_string()) ASSAY_ASSERT(prompt.user.find(*state.string()) != std::string::npos);
  check_shared(state, question, layout, letters);
}

void build_prompts(const Value& state, const Question& question) {
  for (const assay::Option& option : question.options) {
    ASSAY_ASSERT(!assay::decision::option_text(question, option).empty());
  }
  const bool has_labels = question.options.size() <= assay::decision::label_codes().size();
  for (const Layout layout : {Layout::kStateFirst, Layout::kQuestionFirst}) {
    check(state, question, layout, false);
    if (has_labels) check(state, question, layout, true);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  const assay::Result<assay::server::WireRequest> wire = assay::server::parse_semif_request(body, {});
  if (!wire.ok() || !assay::validate_request(wire.value().request, {}).ok()) return 0;
  for (const Question& question : wire.value().request.questions) {
    build_prompts(wire.value().request.state, question);
  }
  return 0;
}
