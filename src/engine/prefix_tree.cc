#include "engine/prefix_tree.h"

#include <unordered_set>

#include "base/assert.h"

namespace assay::engine {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6U) + (hash >> 2U);
  return hash * 0xFF51AFD7ED558CCDULL;
}

}  // namespace

PrefixKey PrefixTree::key(PrefixKey parent, const Tokens& tokens) {
  std::uint64_t sum = mixed(parent, tokens.size());
  for (const TokenId token : tokens) sum = mixed(sum, static_cast<std::uint64_t>(token));
  return sum;
}

PrefixNode* PrefixTree::find(const PrefixNode* parent, const Tokens& tokens, PrefixKey key) const {
  const auto [begin, end] = nodes_.equal_range(key);
  for (auto at = begin; at != end; ++at) {
    if (at->second->parent == parent && at->second->tokens == tokens) return at->second.get();
  }
  return nullptr;
}

PrefixNode* PrefixTree::add(PrefixNode* parent, Tokens tokens, Tiles tiles, SequenceId sequence) {
  auto node = std::make_unique<PrefixNode>();
  node->parent = parent;
  node->position = parent == nullptr ? 0 : parent->end();
  node->key = key(parent == nullptr ? kRootKey : parent->key, tokens);
  node->tokens = std::move(tokens);
  node->tiles = std::move(tiles);
  node->sequence = sequence;
  if (parent != nullptr) parent->users++;
  tokens_ += static_cast<std::int32_t>(node->tokens.size());
  touch(node.get());
  const PrefixKey at = node->key;
  return nodes_.emplace(at, std::move(node))->second.get();
}

void PrefixTree::remove(PrefixNode* node) {
  ASSAY_ASSERT(node->users == 0);
  if (node->parent != nullptr) node->parent->users--;
  tokens_ -= static_cast<std::int32_t>(node->tokens.size());
  const auto [begin, end] = nodes_.equal_range(node->key);
  for (auto at = begin; at != end; ++at) {
    if (at->second.get() != node) continue;
    nodes_.erase(at);
    return;
  }
  ASSAY_ASSERT(false);
}

PrefixNode* PrefixTree::oldest_idle() const {
  PrefixNode* oldest = nullptr;
  for (const auto& [key, node] : nodes_) {
    if (node->users == 0 && (oldest == nullptr || node->last_use < oldest->last_use)) oldest = node.get();
  }
  return oldest;
}

std::vector<const PrefixNode*> PrefixTree::droppable() const {
  std::unordered_map<const PrefixNode*, std::int32_t> below;
  for (const auto& [key, node] : nodes_) {
    if (node->parent != nullptr) below[node->parent]++;
  }
  std::unordered_set<const PrefixNode*> in_use;
  for (const auto& [key, node] : nodes_) {
    if (node->users == below[node.get()]) continue;
    for (const PrefixNode* at = node.get(); at != nullptr; at = at->parent) in_use.insert(at);
  }
  std::vector<const PrefixNode*> found;
  for (const auto& [key, node] : nodes_) {
    if (!in_use.contains(node.get())) found.push_back(node.get());
  }
  return found;
}

void PrefixTree::clear() {
  nodes_.clear();
  tokens_ = 0;
}

std::string PrefixTree::count(std::int32_t& tiles, std::int32_t& sequences,
                              std::unordered_map<const PrefixNode*, std::int32_t> users) const {
  std::int32_t tokens = 0;
  for (const auto& [key, node] : nodes_) {
    tiles += static_cast<std::int32_t>(node->tiles.size());
    sequences++;
    tokens += static_cast<std::int32_t>(node->tokens.size());
    if (node->parent != nullptr) users[node->parent]++;
    if (node->parent != nullptr && node->tiles.front() <= node->parent->top_tile())
      return "a kept segment lies below the one before it";
  }
  if (tokens != tokens_) return "the kept tokens are miscounted";
  for (const auto& [key, node] : nodes_) {
    if (node->users != users[node.get()]) return "the users of a kept segment are miscounted";
  }
  return {};
}

}  // namespace assay::engine
