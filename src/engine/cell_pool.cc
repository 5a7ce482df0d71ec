#include "engine/cell_pool.h"

#include <algorithm>

#include "base/assert.h"

namespace assay::engine {

CellPool::CellPool(std::int32_t cells, std::int32_t tile_cells)
    : tile_cells_(tile_cells), taken_(static_cast<std::size_t>(cells / tile_cells), false) {
  ASSAY_ASSERT(taken_.size() > 1);
  give_back_all();
}

void CellPool::give_back_all() {
  std::fill(taken_.begin(), taken_.end(), false);
  taken_[0] = true;
  free_ = tiles() - 1;
}

Tiles CellPool::lowest_free(std::int32_t count, std::int32_t above) const {
  Tiles found;
  for (std::int32_t tile = std::max(above, 0) + 1; tile < tiles() && std::ssize(found) < count; tile++) {
    if (!taken_[tile]) found.push_back(tile);
  }
  return found;
}

std::optional<Tiles> CellPool::take(std::int32_t count, std::int32_t above) {
  Tiles found = lowest_free(count, above);
  if (std::ssize(found) < count) return std::nullopt;
  for (const std::int32_t tile : found) taken_[tile] = true;
  free_ -= count;
  return found;
}

void CellPool::give_back(const Tiles& tiles) {
  for (const std::int32_t tile : tiles) {
    ASSAY_ASSERT(tile > 0 && taken_[tile]);
    taken_[tile] = false;
  }
  free_ += static_cast<std::int32_t>(tiles.size());
}

SequencePool::SequencePool(std::int32_t sequences) : taken_(static_cast<std::size_t>(sequences - 1), false) {
  give_back_all();
}

void SequencePool::give_back_all() {
  std::fill(taken_.begin(), taken_.end(), false);
  free_ = static_cast<std::int32_t>(taken_.size());
}

std::optional<std::vector<SequenceId>> SequencePool::take(std::int32_t count) {
  if (count > free_) return std::nullopt;
  std::vector<SequenceId> found;
  for (std::size_t i = 0; i < taken_.size() && std::ssize(found) < count; i++) {
    if (taken_[i]) continue;
    taken_[i] = true;
    found.push_back(static_cast<SequenceId>(i));
  }
  free_ -= count;
  return found;
}

void SequencePool::give_back(SequenceId sequence) {
  ASSAY_ASSERT(sequence >= 0 && sequence < padding() && taken_[sequence]);
  taken_[sequence] = false;
  free_++;
}

}  // namespace assay::engine
