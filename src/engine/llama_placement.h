#pragma once
// Where rows lie in llama.cpp's cells is ours to say. Attention sums over cells in blocks, so the same row behind other
// holes has other bits (docs/determinism.md); llama.cpp itself puts rows wherever there is room.
//
// How: the context's memory object is wrapped by one that splits batches as the original does and hands out the planned
// cells in place of searching. What is relied on in llama.cpp's tree, to be compared at an upgrade: llama_memory_i's
// methods; init_batch() of llama_kv_cache, llama_kv_cache_iswa, llama_memory_hybrid and llama_memory_hybrid_iswa, which
// ours repeat; llama_kv_cache::state_read_sinfo(); the member llama_context::memory.

#include <cstdint>
#include <unordered_map>
#include <vector>

struct llama_context;  // NOLINT(readability-identifier-naming): their name

namespace assay::engine {

// The cells of the next decode or restore. Owned by the decoder; the wrapped memory reads it.
class Placement {
 public:
  // Row (sequence, position) goes to `cell`; `sequence` is the lowest of the row's.
  void add(std::int32_t sequence, std::int32_t position, std::int32_t cell) {
    cells_[key(sequence, position)] = static_cast<std::uint32_t>(cell);
  }
  void clear() { cells_.clear(); }
  // -1: nothing was planned for that row.
  std::int64_t find(std::int32_t sequence, std::int32_t position) const {
    const auto at = cells_.find(key(sequence, position));
    return at == cells_.end() ? -1 : static_cast<std::int64_t>(at->second);
  }

  // The cells that a restored sequence goes to, in the order of its positions.
  std::vector<std::uint32_t> restore_cells;

 private:
  static std::uint64_t key(std::int32_t sequence, std::int32_t position) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(sequence)) << 32U) |
           static_cast<std::uint32_t>(position);
  }
  std::unordered_map<std::uint64_t, std::uint32_t> cells_;
};

// Makes `context` put rows where `placement` says, for its whole life. False when its memory is of a kind whose cells
// are not ours to place: then llama.cpp goes on placing them. REQUIRES: placement outlives the context.
bool place_rows(llama_context* context, const Placement& placement);

}  // namespace assay::engine
