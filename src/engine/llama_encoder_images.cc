// Prompts with images: the template is rendered with a mark for each image, and what stands between two marks is
// tokenised on its own, as llama.cpp's own projector code does.

#include <algorithm>
#include <string>
#include <utility>

#include "engine/llama_encoder.h"

namespace assay::engine {
namespace {

// A mark that the prompt's own texts do not spell.
std::string unused_mark(const PromptText& prompt) {
  const std::string text = prompt.system + "\n" + prompt.user + "\n" + prompt.base_cue;
  std::string mark(kImageText);
  for (int i = 0; text.find(mark) != std::string::npos; i++) mark = "<__media_" + std::to_string(i) + "__>";
  return mark;
}

std::string with_marks(const PromptText& prompt, const std::string& mark) {
  std::string user;
  std::size_t at = 0;
  for (const std::size_t slot : prompt.image_slots) {
    user += prompt.user.substr(at, slot - at) + mark;
    at = slot;
  }
  return user + prompt.user.substr(at);
}

// The chat in pieces, cut at the marks, which are left out.
std::vector<RenderedChat> cut_at_marks(const RenderedChat& chat, const std::string& mark) {
  std::vector<RenderedChat> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(chat.text.find(mark, at), chat.text.size());
    parts.push_back({.text = chat.text.substr(at, end - at),
                     .is_content = std::vector<bool>(chat.is_content.begin() + static_cast<std::ptrdiff_t>(at),
                                                     chat.is_content.begin() + static_cast<std::ptrdiff_t>(end))});
    if (end == chat.text.size()) return parts;
    at = end + mark.size();
  }
}

}  // namespace

Result<EncodedPrompt> LlamaEncoder::encode_with_images(const PromptText& prompt) const {
  const std::string mark = unused_mark(prompt);
  PromptText marked = prompt;
  marked.user = with_marks(prompt, mark);
  Result<RenderedChat> chat = render(marked);
  if (!chat.ok()) return chat.error();
  const std::vector<RenderedChat> parts = cut_at_marks(*chat, mark);
  if (parts.size() != prompt.image_slots.size() + 1)
    return Error{ErrorCode::kInternal, "The chat template changed the places of the images.", "images"};
  RenderedChat plain;
  EncodedPrompt encoded;
  for (std::size_t i = 0; i < parts.size(); i++) {
    if (i > 0) {
      encoded.tokens.push_back(image_token(i - 1));
      encoded.text += kImageText;
    }
    const Result<Tokens> tokens = tokenize_part(parts[i]);
    if (!tokens.ok()) return tokens.error();
    encoded.tokens.insert(encoded.tokens.end(), tokens->begin(), tokens->end());
    encoded.text += parts[i].text;
    plain.text += parts[i].text;
    plain.is_content.insert(plain.is_content.end(), parts[i].is_content.begin(), parts[i].is_content.end());
  }
  add_begin_of_text(encoded.tokens);
  if (!holds_user_text(plain, prompt.user))
    return Error{ErrorCode::kInternal, "The chat template changed the text of the request.", "state"};
  add_cuts(prompt, plain, encoded);
  return encoded;
}

}  // namespace assay::engine
