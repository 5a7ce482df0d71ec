#pragma once
// One product of random or chosen numbers, packed and computed by any unit, as bits; for the tests of products.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "kernels/product.h"

namespace assay::kernels::testing {

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

// A guard of 64 bytes behind is left to the address sanitizer: the size is exact up to the alignment.
inline Memory aligned(std::size_t bytes) {
  return Memory(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
}

using Floats = std::vector<float>;

inline Floats random_floats(std::size_t count, std::uint32_t seed, float scale) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  Floats out(count);
  for (float& x : out) x = normal(random);
  return out;
}

// Everything that multiplies on this machine, the emulated tiles too.
inline std::vector<const Unit*> all_units() {
  std::vector<const Unit*> units(usable_units().begin(), usable_units().end());
  units.push_back(&emulated_amx_unit());
  return units;
}

struct Case {
  std::int32_t rows, columns, depth, group;
  std::int32_t levels = 127;
  bool mins = false;
  Width width = Width::kByte;
};

// 16-bit integers, as files in F16, BF16 and F32 get them.
inline Case word_case(std::int32_t rows, std::int32_t columns, std::int32_t depth) {
  return {.rows = rows,
          .columns = columns,
          .depth = depth,
          .group = kWordGroup,
          .levels = kWeightLevels,
          .width = Width::kWord};
}

class Product {
 public:
  Product(const Case& c, const Floats& weights, const Floats& rows) : case_(c), rows_(rows) {
    shape_ = {
        .columns = c.columns, .depth = c.depth, .group = c.group, .levels = c.levels, .mins = c.mins, .width = c.width};
    packed_memory_ = aligned(shape_.bytes());
    packed_ = PackedWeights::in(shape_, packed_memory_.get());
    for (std::int64_t panel = 0; panel < shape_.panels(); panel++) {
      const auto column = static_cast<std::int32_t>(panel) * kPanelColumns;
      pack_panel(weights.data() + static_cast<std::ptrdiff_t>(column) * c.depth,
                 std::min(kPanelColumns, c.columns - column), packed_, panel);
    }
  }

  // The bits of rows [from, to) of the product, computed by themselves, pieces in the order that `backwards` says.
  std::vector<std::uint32_t> bits(const Unit& unit, std::int32_t from, std::int32_t to, bool backwards = false) const {
    const std::int32_t count = to - from;
    const Memory memory = aligned(QuantisedRows::bytes(count, shape_));
    const QuantisedRows rows = QuantisedRows::in(count, shape_, memory.get());
    for (std::int32_t i = 0; i < count; i++)
      quantise_row(unit, rows_.data() + static_cast<std::ptrdiff_t>(from + i) * case_.depth, i, rows);
    Floats out(static_cast<std::size_t>(count) * static_cast<std::size_t>(case_.columns), 12345.0F);
    if (unit.begin != nullptr) unit.begin(case_.group);
    const std::int64_t pieces = piece_count(unit, shape_);
    for (std::int64_t i = 0; i < pieces; i++) {
      multiply_piece(unit, packed_, rows, backwards ? pieces - 1 - i : i, out.data(),
                     static_cast<std::size_t>(case_.columns));
    }
    if (unit.end != nullptr) unit.end();
    std::vector<std::uint32_t> bits;
    for (const float x : out) bits.push_back(std::isnan(x) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(x));
    return bits;
  }

  const PackedWeights& packed() const { return packed_; }

 private:
  Case case_;
  Floats rows_;
  PackedShape shape_;
  Memory packed_memory_;
  PackedWeights packed_;
};

inline std::size_t size_of(std::int32_t a, std::int32_t b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

inline void expect_all_units_agree(const Case& c, const Floats& weights, const Floats& rows) {
  const Product product(c, weights, rows);
  const std::vector<std::uint32_t> wanted = product.bits(scalar_unit(), 0, c.rows);
  for (const Unit* unit : all_units()) {
    ASSERT_EQ(product.bits(*unit, 0, c.rows), wanted)
        << unit->name << " M " << c.rows << " N " << c.columns << " K " << c.depth << " group " << c.group;
  }
}

}  // namespace assay::kernels::testing
