#pragma once
// The arithmetic units of a CPU behind one small interface: a product of rows of integers with packed integer weights,
// both of 8 bits (quantised files) or both of 16 (files in F16, BF16 or F32).
//
// What all units compute, to the bit (docs/kernels.md, docs/adr/0015): for row m and column n, groups g of the depth in
// order,
//     dot  = sum over the group of a[m,k] * w[n,k]            exact, in 32 bits
//     sums = fma(float(dot), a_scale[m,g] * w_scale[n,g], sums)   beginning with 0
// and for weights with an offset of their own (w = w_scale * q + w_min, as Q4_1 has it)
//     sums = fma(a_scale[m,g] * sum of a[m,k] over the group, w_min[n,g], sums)
// With 16 bits the same without offsets; there a dot product may be above 2^24, and float(dot) rounds it once.
// So a row's bits depend on its own numbers and the column's only: not on rows beside it, on how the work is cut or on
// which unit computes. All functions are thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace assay::kernels {

inline constexpr std::int32_t kPanelColumns = 16;  // columns whose weights lie together
inline constexpr std::int32_t kDepthStep = 32;     // depths and groups are multiples of it
inline constexpr std::int32_t kGroupMax = 256;     // 256 * 127 * 127 < 2^24, so a dot product is exact as a float

enum class Width : std::uint8_t { kByte, kWord };  // 8 or 16 bits

// Words: what the largest magnitude of a group becomes. A dot product stays within 32 bits, and rows have more of them
// than weights, because their outliers are larger.
inline constexpr std::int32_t kWordGroup = 32;
inline constexpr std::int32_t kRowLevels = 16383;
inline constexpr std::int32_t kWeightLevels = 4095;
static_assert(std::int64_t{kRowLevels} * kWeightLevels * kWordGroup < std::int64_t{1} << 31);

// Some groups of the depth one after another, some rows and some panels side by side.
struct Block {
  const std::int8_t* a = nullptr;  // -127..127
  std::size_t a_stride = 0;        // bytes from row to row
  const float* a_scales = nullptr;
  const std::int32_t* a_offsets = nullptr;  // -128 times the sum of the row's values in a group; both [rows][groups]
  std::size_t a_group_stride = 0;           // elements of both from row to row
  const std::uint8_t* w = nullptr;          // weight + 128; [group / 4][16 columns][4]
  std::size_t w_stride = 0;                 // bytes from panel to panel
  const float* w_scales = nullptr;          // [panels][groups][16 columns]
  const float* w_mins = nullptr;            // the same, w_min / -128, to be multiplied with a_offsets; null: none
  std::size_t w_scale_stride = 0;           // floats of both from panel to panel
  float* sums = nullptr;                    // [rows][panels * 16], 64-byte aligned
  std::size_t sums_stride = 0;              // floats from row to row, a multiple of 16
  std::int32_t rows = 0;
  std::int32_t panels = 0;  // at most Unit::panels_max
  std::int32_t group = 0;
  std::int32_t groups = 1;
  bool first = false;  // sums begin with 0 instead of what is there
  // Bytes from these weights to those that this thread multiplies next, for a unit that fetches them early; a hint.
  std::size_t w_ahead = 0;
};

// The same for words, in groups of kWordGroup.
struct WordBlock {
  const std::int16_t* a = nullptr;  // -kRowLevels..kRowLevels
  std::size_t a_stride = 0;         // values from row to row
  const float* a_scales = nullptr;  // [rows][groups]
  std::size_t a_group_stride = 0;   // scales from row to row
  const std::int16_t* w = nullptr;  // -kWeightLevels..kWeightLevels, [group / 2][16 columns][2]
  std::size_t w_stride = 0;         // values from panel to panel
  const float* w_scales = nullptr;  // [panels][groups][16 columns]
  std::size_t w_scale_stride = 0;   // from panel to panel
  float* sums = nullptr;            // as in Block
  std::size_t sums_stride = 0;
  std::int32_t rows = 0;
  std::int32_t panels = 0;
  std::int32_t groups = 1;
  bool first = false;
  std::size_t w_ahead = 0;  // values
};

// One of a block's groups, as a block of its own.
inline Block group_of(const Block& block, std::int32_t number) {
  Block one = block;
  const auto at = static_cast<std::size_t>(number);
  const auto group = static_cast<std::size_t>(block.group);
  one.a += at * group;
  one.a_scales += at;
  one.a_offsets += at;
  one.w += at * group * kPanelColumns;
  one.w_scales += at * kPanelColumns;
  if (one.w_mins != nullptr) one.w_mins += at * kPanelColumns;
  one.groups = 1;
  one.first = block.first && number == 0;
  return one;
}

struct Unit {
  const char* name;         // "avx512-vnni"
  std::int32_t panels_max;  // panels that one block may have
  // One row: q = round(x * 127 / max|x|) in each group, ties to even, with its scale and offset. A group with a number
  // that is none gets scale NaN and zeros, one below 2^-100 gets scale 0 and zeros.
  void (*quantise)(const float* x, std::int32_t depth, std::int32_t group, std::int8_t* values, float* scales,
                   std::int32_t* offsets);
  void (*multiply)(const Block& block);
  // One row of words: q = round(x * kRowLevels / max|x|) in each group of kWordGroup, by the same rules.
  void (*quantise_words)(const float* x, std::int32_t depth, std::int16_t* values, float* scales);
  void (*multiply_words)(const WordBlock& block);
  // Before and after the blocks of one group size on a thread; null where there is nothing to do.
  void (*begin)(std::int32_t group) = nullptr;
  void (*end)() = nullptr;
  // Right everywhere, but its speed was never compared with ggml's own kernels on hardware: it computes when it is
  // asked for (`--pack on`), not by itself.
  bool untried = false;
};

const Unit& scalar_unit();
// Each is null where this program or this CPU lacks it.
const Unit* avx2_unit();
const Unit* avx_vnni_unit();
const Unit* avx512_vnni_unit();
const Unit* amx_int8_unit();
const Unit* neon_i8mm_unit();
const Unit* neon_dotprod_unit();
// The AMX kernel on tiles that are emulated in plain C++, for tests on machines without AMX.
const Unit& emulated_amx_unit();

// Those that work here, the best one first; the scalar one is always the last.
std::span<const Unit* const> usable_units();
// The best one, or the one that the environment's ASSAY_KERNEL_UNIT names (for tests and benchmarks).
const Unit& chosen_unit();

}  // namespace assay::kernels
