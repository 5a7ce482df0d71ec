#pragma once
// The AMX kernel, written on a type `Tiles` with the eight tile registers: the hardware's (amx_int8_unit.cc) or
// emulated ones (emulated_amx_unit.cc). All of it has internal linkage.
//
// A block of 32 rows by two panels is four tiles of sums; a step of 64 bytes of the depth loads two tiles of values and
// two of weights for four products. Weights lie as the tiles want them: 16 rows of 64 bytes, each four bytes of 16
// columns.

#include <cstddef>
#include <cstdint>

#include "kernels/unit.h"

namespace assay::kernels {
namespace {

constexpr std::int32_t kTileRows = 16;

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// A step takes 64 bytes of the depth, 32 where the group is no multiple of 64. Tiles 0-3 are sums, 4 and 5 values, 6
// and 7 weights.
inline std::int32_t step_of(std::int32_t group) { return group % 64 == 0 ? 64 : 32; }

inline TileConfig config_for(std::int32_t group) {
  const std::int32_t step = step_of(group);
  TileConfig config;
  for (int tile = 0; tile < 8; tile++) {
    const bool is_weights = tile >= 6;
    const bool is_values = tile == 4 || tile == 5;
    config.rows[tile] = static_cast<std::uint8_t>(is_weights ? step / 4 : kTileRows);
    config.row_bytes[tile] = static_cast<std::uint16_t>(is_values ? step : 64);
  }
  return config;
}

// One group's dot products of 16 or 32 rows by one or two panels into `dots` [rows][panels * 16].
template <typename Tiles, bool kTwoRows, bool kTwoPanels>
void tile_dots(const std::int8_t* a, std::size_t a_stride, const std::uint8_t* w, std::size_t w_stride,
               std::int32_t group, std::int32_t* dots) {
  const std::int32_t step = step_of(group);
  Tiles::template zero<0>();
  if constexpr (kTwoPanels) Tiles::template zero<1>();
  if constexpr (kTwoRows) Tiles::template zero<2>();
  if constexpr (kTwoRows && kTwoPanels) Tiles::template zero<3>();
  for (std::int32_t k = 0; k < group; k += step) {
    const std::uint8_t* const weights = w + static_cast<std::size_t>(k) * kPanelColumns;
    Tiles::template load<4>(a + k, a_stride);
    Tiles::template load<6>(weights, 64);
    Tiles::template add_dots<0, 4, 6>();
    if constexpr (kTwoPanels) {
      Tiles::template load<7>(weights + w_stride, 64);
      Tiles::template add_dots<1, 4, 7>();
    }
    if constexpr (kTwoRows) {
      Tiles::template load<5>(a + k + kTileRows * a_stride, a_stride);
      Tiles::template add_dots<2, 5, 6>();
      if constexpr (kTwoPanels) Tiles::template add_dots<3, 5, 7>();
    }
  }
  constexpr std::size_t kWidth = (kTwoPanels ? 2 : 1) * kPanelColumns;
  Tiles::template store<0>(dots, kWidth * 4);
  if constexpr (kTwoPanels) Tiles::template store<1>(dots + kPanelColumns, kWidth * 4);
  if constexpr (kTwoRows) Tiles::template store<2>(dots + kTileRows * kWidth, kWidth * 4);
  if constexpr (kTwoRows && kTwoPanels) Tiles::template store<3>(dots + kTileRows * kWidth + kPanelColumns, kWidth * 4);
}

template <typename Tiles>
void choose_dots(const Block& block, std::int32_t rows, const std::int8_t* a, std::size_t a_stride,
                 std::int32_t* dots) {
  const bool two_rows = rows > kTileRows;
  const bool two_panels = block.panels == 2;
  const auto run = two_rows ? (two_panels ? tile_dots<Tiles, true, true> : tile_dots<Tiles, true, false>)
                            : (two_panels ? tile_dots<Tiles, false, true> : tile_dots<Tiles, false, false>);
  run(a, a_stride, block.w, block.w_stride, block.group, dots);
}

// `finish(block, row, rows, dots)` scales and adds. Rows that a last tile lacks are read from a copy with zeros.
template <typename Tiles, typename Finish>
void multiply_in_tiles(const Block& block, Finish finish) {
  constexpr std::int32_t kBlockRows = 2 * kTileRows;
  alignas(64) std::int32_t dots[kBlockRows * 2 * kPanelColumns];
  alignas(64) std::int8_t padded[kBlockRows * kGroupMax];
  for (std::int32_t row = 0; row < block.rows; row += kBlockRows) {
    const std::int32_t rows = block.rows - row < kBlockRows ? block.rows - row : kBlockRows;
    const std::int8_t* a = block.a + static_cast<std::size_t>(row) * block.a_stride;
    std::size_t stride = block.a_stride;
    if (rows % kTileRows != 0) {
      const auto bytes = static_cast<std::size_t>(block.group);
      for (std::int32_t i = 0; i < kBlockRows; i++) {
        std::int8_t* const to = padded + static_cast<std::size_t>(i) * bytes;
        if (i < rows) {
          __builtin_memcpy(to, a + static_cast<std::size_t>(i) * stride, bytes);
        } else {
          __builtin_memset(to, 0, bytes);
        }
      }
      a = padded;
      stride = bytes;
    }
    choose_dots<Tiles>(block, rows, a, stride, dots);
    finish(block, row, rows, dots);
  }
}

}  // namespace
}  // namespace assay::kernels
