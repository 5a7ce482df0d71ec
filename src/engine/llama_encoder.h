#pragma once
// Text to tokens with a real vocabulary and a real template. See encoder.h for the promises.

#include <memory>
#include <string>
#include <vector>

#include "assay/error.h"
#include "engine/encoder.h"
#include "engine/llama_template.h"
#include "engine/special_tokens.h"

struct llama_vocab;

namespace assay::engine {

// What the encoder found out about a template at load.
struct TemplateFacts {
  std::string source = "none";    // "model", "override", "none"
  bool system_role = false;       // false: the system text goes in front of the user text
  std::string thinking = "none";  // "none", "closed by the template", "not controlled by the template"
  // What stands in front of a prompt as the beginning of text, at most once whoever writes it: "none", "added",
  // "written by the template", "written by the template and not added again".
  std::string begin_of_text = "none";
  std::vector<std::string> warnings;
};

class LlamaEncoder final : public Encoder {
 public:
  // `template_source` empty: a plain base-model prompt. Errors: kUnsupportedModel when the template cannot be used,
  // always thinks, or builds its control tokens out of message text. REQUIRES: vocabulary outlives this.
  static Result<std::unique_ptr<LlamaEncoder>> open(const llama_vocab* vocabulary, const std::string& template_source,
                                                    bool is_override);

  Result<EncodedPrompt> encode_prompt(const PromptText& prompt) const override;
  Result<Tokens> encode_answer(std::string_view text) const override;
  bool has_chat_template() const override { return template_ != nullptr; }
  TokenId end_of_answer() const override { return end_of_answer_; }
  std::string piece(TokenId token) const override;
  std::size_t tokens_min(std::size_t bytes) const override;
  std::optional<std::string> find_special(std::string_view text) const override;

  const TemplateFacts& facts() const { return facts_; }
  const SpecialTokens& specials() const { return specials_; }

 private:
  explicit LlamaEncoder(const llama_vocab* vocabulary);

  Status open_template(const std::string& source, bool is_override);
  Status check_thinking();
  Status check_tokens();
  void check_begin_of_text(const RenderedChat& chat);
  void check_round_trip();
  void find_answer_ends();
  void find_longest_piece();

  Result<RenderedChat> render(const PromptText& prompt) const;
  // The template may trim a turn; anything else done to content would make the marks worthless.
  static bool holds_user_text(const RenderedChat& chat, const std::string& user);
  void add_cuts(const PromptText& prompt, const RenderedChat& chat, EncodedPrompt& encoded) const;
  Result<EncodedPrompt> encode_with_images(const PromptText& prompt) const;
  Result<Tokens> tokenize(const RenderedChat& chat) const;
  Result<Tokens> tokenize_part(const RenderedChat& chat) const;
  // Content alone, with no special token in the result.
  Result<Tokens> tokenize_content(std::string_view text) const;
  Tokens tokenize_plain(std::string_view text, bool parse_special) const;
  void add_begin_of_text(Tokens& tokens) const;

  const llama_vocab* const vocabulary_;
  const SpecialTokens specials_;
  std::vector<bool> is_special_;  // by token id: must not come from content
  std::unique_ptr<LlamaTemplate> template_;
  TemplateFacts facts_;
  TokenId end_of_answer_ = 0;
  std::size_t piece_bytes_max_ = 0;  // of any token; 0: a token may stand for a text of any length
  std::string answer_lead_;          // what stands between the last control token (or content) and an answer
  std::string answer_space_;         // " " for base models: the space inside an answer
};

}  // namespace assay::engine
