#pragma once
// The decoder's cells by tiles: who may put rows where. Books only.

#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "engine/decoder.h"

namespace assay::engine {

using Tiles = std::vector<std::int32_t>;  // tile numbers, rising

// A value. Tile 0 is never given away: it is where padding rows lie.
class CellPool {
 public:
  CellPool(std::int32_t cells, std::int32_t tile_cells);

  // The lowest `count` free tiles above tile `above`, rising. Nothing, and nothing taken, when there are not as many.
  std::optional<Tiles> take(std::int32_t count, std::int32_t above);
  // Whether take() would find them.
  bool can_take(std::int32_t count, std::int32_t above) const { return std::ssize(lowest_free(count, above)) == count; }
  void give_back(const Tiles& tiles);
  void give_back_all();

  std::int32_t tiles() const { return static_cast<std::int32_t>(taken_.size()); }
  std::int32_t free_tiles() const { return free_; }
  std::int32_t tile_cells() const { return tile_cells_; }

  // The cell of a virtual cell in a space made of these tiles. REQUIRES: it lies in them.
  static Cell cell(const Tiles& tiles, std::int32_t virtual_cell, std::int32_t tile_cells) {
    return tiles[virtual_cell / tile_cells] * tile_cells + virtual_cell % tile_cells;
  }

 private:
  // At most `count` of them.
  Tiles lowest_free(std::int32_t count, std::int32_t above) const;

  std::int32_t tile_cells_;
  std::vector<bool> taken_;
  std::int32_t free_ = 0;
};

// Sequence ids that are free. The last one is never given away: padding rows have it.
class SequencePool {
 public:
  explicit SequencePool(std::int32_t sequences);

  // Lowest first; nothing taken when there are not as many.
  std::optional<std::vector<SequenceId>> take(std::int32_t count);
  void give_back(SequenceId sequence);
  void give_back_all();
  SequenceId padding() const { return static_cast<SequenceId>(taken_.size()); }
  std::int32_t free_sequences() const { return free_; }

 private:
  std::vector<bool> taken_;
  std::int32_t free_ = 0;
};

}  // namespace assay::engine
