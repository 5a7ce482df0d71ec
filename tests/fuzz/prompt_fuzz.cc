// Fuzzes the prompt builder: any body that the wire and the domain accept becomes both prompts. They must be UTF-8, the
// same each time, and hold what they are made of.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "assay/decision.h"
#include "base/assert.h"
#include "base/utf8.h"
#include "decision/labels.h"
#include "decision/prompt.h"
#include "server/wire.h"

namespace {

bool same(const assay::decision::Prompt& a, const assay::decision::Prompt& b) {
  return a.system == b.system && a.user == b.user && a.base_cue == b.base_cue && a.version == b.version;
}

void check(const assay::decision::Prompt& prompt) {
  ASSAY_ASSERT(!assay::first_invalid_utf8(prompt.system).has_value());
  ASSAY_ASSERT(!assay::first_invalid_utf8(prompt.user).has_value());
  ASSAY_ASSERT(!prompt.user.empty() && !prompt.version.empty());
}

void build_prompts(const assay::Value& state, const assay::Question& question) {
  const assay::decision::Prompt text = assay::decision::text_prompt(state, question);
  check(text);
  ASSAY_ASSERT(same(text, assay::decision::text_prompt(state, question)));
  if (state.is_string()) ASSAY_ASSERT(text.user.find(*state.string()) != std::string::npos);
  for (const assay::Option& option : question.options) {
    ASSAY_ASSERT(!assay::decision::option_text(question, option).empty());
  }
  if (question.options.size() > assay::decision::label_codes().size()) return;
  const assay::decision::Prompt letters =
      assay::decision::letters_prompt(state, question, assay::decision::label_codes());
  check(letters);
  ASSAY_ASSERT(same(letters, assay::decision::letters_prompt(state, question, assay::decision::label_codes())));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  const assay::Result<assay::server::WireRequest> wire = assay::server::parse_semif_request(body, {});
  if (!wire.ok() || !assay::validate_request(wire.value().request, {}).ok()) return 0;
  for (const assay::Question& question : wire.value().request.questions) {
    build_prompts(wire.value().request.state, question);
  }
  return 0;
}
