#include "engine/token_tree.h"

#include <algorithm>

#include "base/assert.h"

namespace assay::engine {

std::int32_t TokenTree::find_child(std::int32_t parent, TokenId token) const {
  std::int32_t child = parent == kRoot ? root_first_ : first_child_[parent];
  while (child != -1 && rows_[child].token != token) child = next_sibling_[child];
  return child;
}

std::int32_t TokenTree::add_path(std::span<const TokenId> tokens, std::int32_t parent) {
  ASSAY_ASSERT(parent >= kRoot && parent < static_cast<std::int32_t>(rows_.size()));
  std::int32_t at = parent;
  for (const TokenId token : tokens) {
    std::int32_t child = find_child(at, token);
    if (child == -1) {
      child = static_cast<std::int32_t>(rows_.size());
      rows_.push_back({.token = token, .parent = at, .position = at == kRoot ? 0 : rows_[at].position + 1});
      first_child_.push_back(-1);
      last_child_.push_back(-1);
      next_sibling_.push_back(-1);
      std::int32_t& first = at == kRoot ? root_first_ : first_child_[at];
      std::int32_t& last = at == kRoot ? root_last_ : last_child_[at];
      if (first == -1) {
        first = child;
      } else {
        next_sibling_[last] = child;
      }
      last = child;
    }
    at = child;
  }
  return at;
}

std::vector<std::int32_t> TokenTree::children(std::int32_t row) const {
  std::vector<std::int32_t> found;
  for (std::int32_t child = row == kRoot ? root_first_ : first_child_[row]; child != -1; child = next_sibling_[child]) {
    found.push_back(child);
  }
  return found;
}

Tokens TokenTree::path(std::int32_t row) const {
  Tokens tokens;
  for (; row != kRoot; row = rows_[row].parent) tokens.push_back(rows_[row].token);
  std::reverse(tokens.begin(), tokens.end());
  return tokens;
}

}  // namespace assay::engine
