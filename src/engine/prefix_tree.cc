#include "engine/prefix_tree.h"

#include <algorithm>
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

bool PrefixNode::is_held() const {
  return std::any_of(holders.begin(), holders.end(), [](const auto& holder) { return !holder.expired(); });
}

void PrefixTree::hold(PrefixNode* node, const std::shared_ptr<const void>& holder) {
  std::erase_if(node->holders, [](const auto& other) { return other.expired(); });
  const auto is_same = [&holder](const auto& other) { return other.lock() == holder; };
  if (std::none_of(node->holders.begin(), node->holders.end(), is_same)) node->holders.emplace_back(holder);
}

PrefixNode* PrefixTree::oldest_idle(std::int32_t held_tokens_max) const {
  PrefixNode* free = nullptr;
  PrefixNode* held = nullptr;
  std::ptrdiff_t held_tokens = 0;
  for (const auto& [key, node] : nodes_) {
    const bool is_held = node->is_held();
    if (is_held) held_tokens += std::ssize(node->tokens);
    if (node->users > 0) continue;
    PrefixNode*& oldest = is_held ? held : free;
    if (oldest == nullptr || node->last_use < oldest->last_use) oldest = node.get();
  }
  if (held != nullptr && (free == nullptr || held_tokens > held_tokens_max)) return held;
  return free;
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
