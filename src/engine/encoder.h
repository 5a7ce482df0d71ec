#pragma once
// The seam to the model's words: chat turns and option texts to tokens. llama_encoder.cc is the real one,
// testing/fake_encoder.h the one for tests. Immutable after it is made, so thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"
#include "engine/image_token.h"
#include "engine/token_tree.h"

namespace assay::engine {

// What is to be said to the model. Both texts are content: nothing in them can become a control token.
struct PromptText {
  std::string system;  // empty: no system turn (a template may still write its own)
  std::string user;
  std::string base_cue;          // what a model without a chat template reads after the user text, such as "\nAnswer:"
  bool plain = false;            // as a model without a chat template reads it: `user` alone
  std::size_t fixed_bytes = 0;   // the first bytes of the user text that all prompts of this kind have
  std::size_t shared_bytes = 0;  // the first bytes of the user text that other prompts may share; at least fixed_bytes
  // Places of images: image i stands before byte image_slots[i] of the user text. Rising.
  std::vector<std::size_t> image_slots = {};
};

// Stands for an image in EncodedPrompt::text.
inline constexpr std::string_view kImageText = "<__media__>";

struct EncodedPrompt {
  std::string text;  // the whole rendered prompt, template included; kImageText for an image
  Tokens tokens;     // exactly one BOS where the vocabulary wants one; image_token(i) for image i
  // How many first tokens lie wholly before the end of the user text's fixed bytes (the template's and the system's
  // too), and before the end of its shared bytes. They depend on the prompt's own bytes alone.
  // 0 <= head_tokens <= shared_tokens < tokens.size().
  std::int32_t head_tokens = 0;
  std::int32_t shared_tokens = 0;
};

// How many first tokens have their pieces' bytes within the first `bytes`; never all of them.
// `piece_bytes(token)` is a piece's length.
template <typename PieceBytes>
std::int32_t tokens_within(const Tokens& tokens, std::size_t bytes, const PieceBytes& piece_bytes) {
  std::size_t end = 0;
  std::int32_t count = 0;
  while (count + 1 < static_cast<std::int32_t>(tokens.size())) {
    end += piece_bytes(tokens[static_cast<std::size_t>(count)]);
    if (end > bytes) break;
    count++;
  }
  return count;
}

class Encoder {
 public:
  virtual ~Encoder() = default;

  // Renders the turns through the model's chat template, thinking closed, up to where the answer begins. A template
  // without a system role gets the system text in front of the user text. No token of special kind comes from content
  // (checked).
  virtual Result<EncodedPrompt> encode_prompt(const PromptText& prompt) const = 0;
  // The tokens of an answer's words as they would follow a prompt. Never a special token. Empty text gives no tokens.
  virtual Result<Tokens> encode_answer(std::string_view text) const = 0;
  // False: a base model, whose prompt ends in its cue instead of an assistant's turn.
  virtual bool has_chat_template() const = 0;
  // The token that closes an answer: the template's end of turn, or the vocabulary's end of text.
  virtual TokenId end_of_answer() const = 0;
  // The bytes of a token.
  virtual std::string piece(TokenId token) const = 0;
  // No text of so many bytes, without white space at its ends, has fewer tokens than this; 0 where nothing can be said.
  virtual std::size_t tokens_min(std::size_t bytes) const = 0;
  // The first special token that the text spells, as text; for SpecialTokens::kReject.
  virtual std::optional<std::string> find_special(std::string_view text) const = 0;
};

}  // namespace assay::engine
