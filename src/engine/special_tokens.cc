#include "engine/special_tokens.h"

#include <algorithm>
#include <cctype>

#include "base/assert.h"

namespace assay::engine {
namespace {

bool is_space(char character) { return std::isspace(static_cast<unsigned char>(character)) != 0; }

// Bytes of the UTF-8 character at `at`, at least 1.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  std::size_t length = 1;
  while (at + length < text.size() && (static_cast<unsigned char>(text[at + length]) & 0xC0) == 0x80) length++;
  return length;
}

}  // namespace

SpecialTokens::SpecialTokens(std::vector<SpecialToken> tokens) : tokens_(std::move(tokens)), nodes_(1) {
  for (std::size_t i = 0; i < tokens_.size(); i++) {
    std::int32_t node = 0;
    for (const char character : tokens_[i].text) {
      std::int32_t next = child(node, character);
      if (next < 0) {
        next = static_cast<std::int32_t>(nodes_.size());
        nodes_.emplace_back();
        auto& edges = nodes_[node].next;
        edges.insert(std::lower_bound(edges.begin(), edges.end(), std::pair(character, 0)), {character, next});
      }
      node = next;
    }
    if (node != 0) nodes_[node].token = static_cast<std::int32_t>(i);
  }
}

std::int32_t SpecialTokens::child(std::int32_t node, char character) const {
  const auto& edges = nodes_[node].next;
  const auto at = std::lower_bound(edges.begin(), edges.end(), std::pair(character, 0));
  return at != edges.end() && at->first == character ? at->second : -1;
}

const SpecialToken* SpecialTokens::longest_at(std::string_view text, std::size_t at) const {
  const SpecialToken* longest = nullptr;
  std::int32_t node = 0;
  for (std::size_t i = at; i < text.size(); i++) {
    node = child(node, text[i]);
    if (node < 0) break;
    if (nodes_[node].token >= 0) longest = &tokens_[nodes_[node].token];
  }
  return longest;
}

const SpecialToken* SpecialTokens::find(TokenId id) const {
  const auto at =
      std::find_if(tokens_.begin(), tokens_.end(), [id](const SpecialToken& token) { return token.id == id; });
  return at == tokens_.end() ? nullptr : &*at;
}

bool SpecialTokens::is_guarded(const SpecialToken& token) {
  const bool blank = std::all_of(token.text.begin(), token.text.end(), is_space);
  return !blank && character_bytes(token.text, 0) < token.text.size();
}

std::vector<Fragment> cut_fragments(std::string_view text, const std::vector<bool>& is_content,
                                    const SpecialTokens& specials) {
  ASSAY_ASSERT(is_content.size() == text.size());
  std::vector<Fragment> fragments;
  std::string pending;
  std::size_t pending_template = 0;  // template bytes at the end of `pending`
  const auto flush = [&] {
    if (!pending.empty()) fragments.push_back({.special = nullptr, .text = std::move(pending)});
    pending.clear();
    pending_template = 0;
  };
  std::size_t at = 0;
  std::size_t template_end = 0;  // end of the template bytes that begin at or before `at`
  while (at < text.size()) {
    template_end = std::max(template_end, at);
    while (template_end < text.size() && !is_content[template_end]) template_end++;
    const SpecialToken* special = specials.longest_at(text.substr(0, template_end), at);
    if (special == nullptr) {
      pending_template = is_content[at] ? 0 : pending_template + 1;
      pending.push_back(text[at++]);
      continue;
    }
    while (special->strips_left && pending_template > 0 && is_space(pending.back())) {
      pending.pop_back();
      pending_template--;
    }
    flush();
    fragments.push_back({.special = special, .text = {}});
    at += special->text.size();
    while (special->strips_right && at < template_end && is_space(text[at])) at++;
  }
  flush();
  return fragments;
}

std::vector<std::string_view> split_specials(std::string_view text, const SpecialTokens& specials, SplitAt which) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const SpecialToken* special = specials.longest_at(text, at);
    const bool counts = special != nullptr && SpecialTokens::is_guarded(*special) &&
                        (which == SplitAt::kAnySpecial || special->user_defined);
    at += character_bytes(text, at);
    if (counts) {
      pieces.push_back(text.substr(begin, at - begin));
      begin = at;
    }
  }
  if (begin < text.size()) pieces.push_back(text.substr(begin));
  return pieces;
}

const SpecialToken* first_special(std::string_view text, const SpecialTokens& specials) {
  for (std::size_t at = 0; at < text.size(); at++) {
    const SpecialToken* special = specials.longest_at(text, at);
    if (special != nullptr && SpecialTokens::is_guarded(*special)) return special;
  }
  return nullptr;
}

}  // namespace assay::engine
