#pragma once
// Where control tokens may come from: only from bytes that a template wrote. Pure functions over text; the tokenizer
// itself is llama.cpp's.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/token_tree.h"

namespace assay::engine {

// A token of the vocabulary that is matched as a whole before ordinary tokenising.
struct SpecialToken {
  TokenId id = 0;
  std::string text;
  bool user_defined = false;  // llama.cpp matches these in any text, also when it parses no control tokens
  bool unknown = false;       // stands for characters that the vocabulary lacks; plain text may give it
  bool strips_left = false;   // white space before it is dropped
  bool strips_right = false;
};

// Immutable, so thread-safe.
class SpecialTokens {
 public:
  explicit SpecialTokens(std::vector<SpecialToken> tokens);

  // The longest special token whose text begins at `at`; nullptr when there is none.
  const SpecialToken* longest_at(std::string_view text, std::size_t at) const;
  const SpecialToken* find(TokenId id) const;
  const std::vector<SpecialToken>& all() const { return tokens_; }

  // True for what must never come from content. Runs of white space and single characters are words of the vocabulary
  // that happen to be listed as user-defined (Gemma's "\n\n"), not controls; they may.
  static bool is_guarded(const SpecialToken& token);

 private:
  struct Node {
    std::vector<std::pair<char, std::int32_t>> next;  // sorted by character
    std::int32_t token = -1;                          // index into tokens_
  };
  std::int32_t child(std::int32_t node, char character) const;

  std::vector<SpecialToken> tokens_;
  std::vector<Node> nodes_;
};

// A piece of a rendered prompt: a control token that the template wrote, or text between two of them.
struct Fragment {
  const SpecialToken* special = nullptr;
  std::string text;  // empty for a special
};

// Cuts a rendered prompt. A special token counts only where every one of its bytes is the template's (is_content
// false); white space that it strips is dropped only from template bytes. REQUIRES: is_content.size() == text.size().
std::vector<Fragment> cut_fragments(std::string_view text, const std::vector<bool>& is_content,
                                    const SpecialTokens& specials);

enum class SplitAt { kUserDefined, kAnySpecial };
// Splits text inside every guarded special token that it spells, after its first character, so that no piece spells
// one.
std::vector<std::string_view> split_specials(std::string_view text, const SpecialTokens& specials, SplitAt which);

// The first guarded special token that the text spells; nullptr when it spells none.
const SpecialToken* first_special(std::string_view text, const SpecialTokens& specials);

}  // namespace assay::engine
