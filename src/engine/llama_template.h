#pragma once
// A model's Jinja chat template, rendered so that every byte of the result is known to be the template's or the
// caller's.

#include <memory>
#include <string>
#include <vector>

#include "assay/error.h"

namespace assay::engine {

struct ChatTurn {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

struct RenderedChat {
  std::string text;
  std::vector<bool> is_content;  // by byte of text: came from a turn's content
};

// Immutable, so thread-safe.
class LlamaTemplate {
 public:
  // Errors: kUnsupportedModel with the parser's message.
  static Result<std::unique_ptr<LlamaTemplate>> parse(const std::string& source, const std::string& bos_text,
                                                      const std::string& eos_text);
  ~LlamaTemplate();

  struct RenderOptions {
    bool generation_prompt = true;  // end where the assistant's answer begins
    bool thinking = false;
  };
  // Errors: kUnsupportedModel when the template raises (some refuse a system role).
  Result<RenderedChat> render(const std::vector<ChatTurn>& turns, RenderOptions options) const;

  const std::string& source() const;

 private:
  struct Parsed;
  explicit LlamaTemplate(std::unique_ptr<Parsed> parsed);
  std::unique_ptr<Parsed> parsed_;
};

// What a rendered prompt does about thinking, by the tags that stand after its last content: kOpen would make the model
// think first.
enum class Thinking { kNone, kClosed, kOpen };
Thinking thinking_after_content(const RenderedChat& chat);

}  // namespace assay::engine
