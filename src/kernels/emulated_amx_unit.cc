#include <array>
#include <cmath>
#include <cstring>

#include "base/assert.h"
#include "kernels/amx_tiles.h"
#include "kernels/unit.h"

// Tiles as the instruction set's reference describes them (tileloadd, tdpbsud, tilestored): rows and row lengths come
// from the configuration, what lies outside of them is zero.

namespace assay::kernels {
namespace {

struct Tile {
  std::array<std::array<std::uint8_t, 64>, 16> rows{};
};

struct Registers {
  TileConfig config;
  bool configured = false;
  std::array<Tile, 8> tiles;
};

Registers& registers() {
  thread_local Registers state;
  return state;
}

struct EmulatedTiles {
  template <int kTile>
  static void zero() {
    registers().tiles[kTile] = {};
  }
  template <int kTile>
  static void load(const void* from, std::size_t stride) {
    Registers& state = registers();
    ASSAY_ASSERT(state.configured);
    state.tiles[kTile] = {};
    for (std::size_t row = 0; row < state.config.rows[kTile]; row++) {
      std::memcpy(state.tiles[kTile].rows[row].data(), static_cast<const std::uint8_t*>(from) + row * stride,
                  state.config.row_bytes[kTile]);
    }
  }
  template <int kTile>
  static void store(void* to, std::size_t stride) {
    const Registers& state = registers();
    for (std::size_t row = 0; row < state.config.rows[kTile]; row++) {
      std::memcpy(static_cast<std::uint8_t*>(to) + row * stride, state.tiles[kTile].rows[row].data(),
                  state.config.row_bytes[kTile]);
    }
  }
  template <int kSums, int kValues, int kWeights>
  static void add_dots() {
    Registers& state = registers();
    for (std::size_t m = 0; m < state.config.rows[kSums]; m++) {
      for (std::size_t k = 0; k < state.config.row_bytes[kValues] / 4U; k++) {
        for (std::size_t n = 0; n < state.config.row_bytes[kSums] / 4U; n++)
          add_four<kSums, kValues, kWeights>(m, k, n);
      }
    }
  }

 private:
  template <int kSums, int kValues, int kWeights>
  static void add_four(std::size_t m, std::size_t k, std::size_t n) {
    Registers& state = registers();
    std::uint8_t* const place = state.tiles[kSums].rows[m].data() + 4 * n;
    std::int32_t sum = 0;
    std::memcpy(&sum, place, 4);
    for (std::size_t i = 0; i < 4; i++) {
      const auto value = static_cast<std::int8_t>(state.tiles[kValues].rows[m][4 * k + i]);
      sum += std::int32_t{value} * std::int32_t{state.tiles[kWeights].rows[k][4 * n + i]};
    }
    std::memcpy(place, &sum, 4);
  }
};

void finish(const Block& block, std::int32_t row, std::int32_t rows, const std::int32_t* dots) {
  for (std::int32_t i = 0; i < rows; i++) {
    const auto at_row = static_cast<std::size_t>(row) + static_cast<std::size_t>(i);
    float* const sums = block.sums + at_row * block.sums_stride;
    for (std::int32_t n = 0; n < block.panels * kPanelColumns; n++, dots++) {
      const auto panel = static_cast<std::size_t>(n / kPanelColumns);
      const float a_scale = block.a_scales[at_row * block.a_group_stride];
      const std::size_t place = panel * block.w_scale_stride + static_cast<std::size_t>(n % kPanelColumns);
      const std::int32_t offset = block.a_offsets[at_row * block.a_group_stride];
      sums[n] =
          std::fma(static_cast<float>(*dots + offset), a_scale * block.w_scales[place], block.first ? 0.0F : sums[n]);
      if (block.w_mins != nullptr)
        sums[n] = std::fma(a_scale * static_cast<float>(offset), block.w_mins[place], sums[n]);
    }
  }
}

void multiply(const Block& block) {
  for (std::int32_t g = 0; g < block.groups; g++) multiply_in_tiles<EmulatedTiles>(group_of(block, g), finish);
}

void begin(std::int32_t group) {
  registers().config = config_for(group);
  registers().configured = true;
}

void end() { registers().configured = false; }

void quantise(const float* x, std::int32_t depth, std::int32_t group, std::int8_t* values, float* scales,
              std::int32_t* offsets) {
  scalar_unit().quantise(x, depth, group, values, scales, offsets);
}

void quantise_words(const float* x, std::int32_t depth, std::int16_t* values, float* scales) {
  scalar_unit().quantise_words(x, depth, values, scales);
}

void multiply_words(const WordBlock& block) { scalar_unit().multiply_words(block); }

constexpr Unit kUnit{.name = "amx-int8-emulated",
                     .panels_max = 2,
                     .quantise = quantise,
                     .multiply = multiply,
                     .quantise_words = quantise_words,
                     .multiply_words = multiply_words,
                     .begin = begin,
                     .end = end};

}  // namespace

const Unit& emulated_amx_unit() { return kUnit; }

}  // namespace assay::kernels
