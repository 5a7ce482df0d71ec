#pragma once
// Segments that are kept in the decoder for later jobs: a tree whose node is a whole segment behind the segments above
// it. A node is found only by all of its tokens, never by a hash alone.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/cell_pool.h"
#include "engine/job.h"

namespace assay::engine {

// Of all tokens from the root to the end of a segment, and of where they are cut. Equal keys are only a hint.
using PrefixKey = std::uint64_t;

struct PrefixNode {
  PrefixNode* parent = nullptr;  // nullptr: it begins at position 0
  Tokens tokens;
  PrefixKey key = 0;
  std::int32_t position = 0;   // of its first token
  Tiles tiles;                 // its own; those of the nodes above are theirs
  SequenceId sequence = 0;     // holds the whole path
  bool ready = false;          // computed; until then its owner computes it
  std::int32_t users = 0;      // jobs that stand on it, and nodes below it: as long as there are any it stays
  std::uint64_t last_use = 0;  // order of use
  // It is held while any of them lives: whoever owns one wants it to stay although no job stands on it now.
  std::vector<std::weak_ptr<const void>> holders;

  bool is_held() const;
  // The highest tile of the path; -1 for none.
  std::int32_t top_tile() const { return tiles.empty() ? -1 : tiles.back(); }
  std::int32_t end() const { return position + static_cast<std::int32_t>(tokens.size()); }
};

// Not thread-safe.
class PrefixTree {
 public:
  static constexpr PrefixKey kRootKey = 0x243F6A8885A308D3ULL;
  // The key of a segment below the one that has the key `parent`.
  static PrefixKey key(PrefixKey parent, const Tokens& tokens);

  // nullptr: not there. `parent` nullptr: below the root. `key` is that of these tokens there.
  PrefixNode* find(const PrefixNode* parent, const Tokens& tokens, PrefixKey key) const;
  // REQUIRES: it is not there yet. The new node has no users; its parent gets one.
  PrefixNode* add(PrefixNode* parent, Tokens tokens, Tiles tiles, SequenceId sequence);
  // REQUIRES: no users. Its parent loses one.
  void remove(PrefixNode* node);
  void touch(PrefixNode* node) { node->last_use = ++uses_; }
  void use(PrefixNode* node) {
    node->users++;
    touch(node);
  }
  void leave(PrefixNode* node) { node->users--; }
  // Adds a holder to the node, once. REQUIRES: not nullptr.
  static void hold(PrefixNode* node, const std::shared_ptr<const void>& holder);
  // The node without users that goes next; nullptr when all are in use. First those that nobody holds, of these the one
  // used longest ago; but where held nodes have more than `held_tokens_max` tokens, first of them.
  PrefixNode* oldest_idle(std::int32_t held_tokens_max) const;
  // All nodes that could go, one after another: no job stands on them or below them.
  std::vector<const PrefixNode*> droppable() const;
  // Drops everything, whoever uses it.
  void clear();

  std::int32_t nodes() const { return static_cast<std::int32_t>(nodes_.size()); }
  std::int32_t tokens() const { return tokens_; }
  // For Engine::broken_invariant(): adds the tiles and sequences of all nodes; what is wrong with the users' counts, if
  // anything. `users`: jobs that stand on a node.
  std::string count(std::int32_t& tiles, std::int32_t& sequences,
                    std::unordered_map<const PrefixNode*, std::int32_t> users) const;

 private:
  std::unordered_multimap<PrefixKey, std::unique_ptr<PrefixNode>> nodes_;
  std::int32_t tokens_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace assay::engine
