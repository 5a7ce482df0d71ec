// What the arithmetic units of this CPU give by themselves, for bench/prefill.py: kernels_bench THREADS REPEATS
//
// One JSON object a line, for each unit that works here: its limit (one block of 8 rows by a piece of columns and 256
// deep, which stays in the innermost cache, again and again on all threads), then whole products with weights that come
// from memory as a model's do. `share` is of that limit. Best of REPEATS. The same for words, 16-bit integers.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/product.h"

namespace assay::kernels {
namespace {

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory filled(std::size_t bytes) {
  const std::size_t whole = (bytes + 4095) / 4096 * 4096;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(4096, whole)));
  for (std::size_t i = 0; i < whole; i++) memory.get()[i] = static_cast<std::byte>(1 + i * 37 % 250);
  return memory;
}

// Seconds that `work` takes on all threads at once, best of `repeats`.
double seconds(int threads, int repeats, const std::function<void()>& work) {
  double best = 1e9;
  for (int r = 0; r < repeats; r++) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; t++) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

double limit(const Unit& unit, int threads, int repeats) {
  constexpr int kRows = 32;
  constexpr int kTimes = 20000;
  const auto work = [&unit] {
    const Memory a = filled(kRows * kGroupMax);
    const Memory w = filled(4 * kGroupMax * kPanelColumns);
    alignas(64) static thread_local float sums[kRows * 4 * kPanelColumns];
    alignas(64) static thread_local float scales[4 * kPanelColumns];
    static thread_local std::int32_t offsets[kRows];
    Block block{.a = reinterpret_cast<std::int8_t*>(a.get()),
                .a_stride = kGroupMax,
                .a_scales = scales,
                .a_offsets = offsets,
                .a_group_stride = 1,
                .w = reinterpret_cast<std::uint8_t*>(w.get()),
                .w_stride = kGroupMax * kPanelColumns,
                .w_scales = scales,
                .w_scale_stride = kPanelColumns,
                .sums = sums,
                .sums_stride = static_cast<std::size_t>(unit.panels_max) * kPanelColumns,
                .rows = kRows,
                .panels = unit.panels_max,
                .group = kGroupMax,
                .first = true};
    if (unit.begin != nullptr) unit.begin(kGroupMax);
    for (int i = 0; i < kTimes; i++) unit.multiply(block);
    if (unit.end != nullptr) unit.end();
  };
  const double operations =
      2.0 * kRows * unit.panels_max * kPanelColumns * kGroupMax * kTimes * static_cast<double>(threads);
  return operations / seconds(threads, repeats, work);
}

double word_limit(const Unit& unit, int threads, int repeats) {
  constexpr int kRows = 32;
  constexpr int kGroups = 4;
  constexpr int kDepth = kGroups * kWordGroup;
  constexpr int kTimes = 20000;
  const auto work = [&unit] {
    const Memory a = filled(kRows * kDepth * sizeof(std::int16_t));
    const Memory w = filled(4 * kDepth * kPanelColumns * sizeof(std::int16_t));
    alignas(64) static thread_local float sums[kRows * 4 * kPanelColumns];
    alignas(64) static thread_local float scales[kRows * kGroups * kPanelColumns];
    const WordBlock block{.a = reinterpret_cast<std::int16_t*>(a.get()),
                          .a_stride = kDepth,
                          .a_scales = scales,
                          .a_group_stride = kGroups,
                          .w = reinterpret_cast<std::int16_t*>(w.get()),
                          .w_stride = kDepth * kPanelColumns,
                          .w_scales = scales,
                          .w_scale_stride = kGroups * kPanelColumns,
                          .sums = sums,
                          .sums_stride = static_cast<std::size_t>(unit.panels_max) * kPanelColumns,
                          .rows = kRows,
                          .panels = unit.panels_max,
                          .groups = kGroups,
                          .first = true};
    for (int i = 0; i < kTimes; i++) unit.multiply_words(block);
  };
  const double operations =
      2.0 * kRows * unit.panels_max * kPanelColumns * kDepth * kTimes * static_cast<double>(threads);
  return operations / seconds(threads, repeats, work);
}

PackedShape byte_shape(int columns, int depth) {
  return {.columns = columns, .depth = depth, .group = group_for(depth, kGroupMax)};
}

PackedShape word_shape(int columns, int depth) {
  return {.columns = columns, .depth = depth, .group = kWordGroup, .levels = kWeightLevels, .width = Width::kWord};
}

double product(const Unit& unit, int threads, int repeats, int rows, const PackedShape& shape) {
  const std::size_t one = (shape.bytes() + 63) / 64 * 64;
  const auto copies = std::max<std::size_t>(1, (std::size_t{96} << 20) / one);  // more than the caches hold
  const Memory memory = filled(one * copies);
  const Memory a = filled(QuantisedRows::bytes(rows, shape));
  const QuantisedRows quantised = QuantisedRows::in(rows, shape, a.get());
  const auto columns = static_cast<std::size_t>(shape.columns);
  const auto out = std::make_unique<float[]>(static_cast<std::size_t>(rows) * columns);
  std::vector<std::atomic<std::int64_t>> next(copies);
  double best = 1e9;
  for (int r = 0; r < repeats; r++) {
    for (auto& n : next) n = 0;
    best = std::min(best, seconds(threads, 1, [&] {
                      if (unit.begin != nullptr) unit.begin(shape.group);
                      for (std::size_t i = 0; i < copies; i++) {
                        const PackedWeights weights = PackedWeights::in(shape, memory.get() + one * i);
                        for (std::int64_t p = next[i]++; p < piece_count(unit, shape); p = next[i]++)
                          multiply_piece(unit, weights, quantised, p, out.get(), columns);
                      }
                      if (unit.end != nullptr) unit.end();
                    }));
  }
  return 2.0 * rows * static_cast<double>(columns) * shape.depth * static_cast<double>(copies) / best;
}

void measure_width(const Unit& unit, int threads, int repeats, Width width) {
  const bool words = width == Width::kWord;
  const char* const title = words ? "words, " : "";
  const double most = words ? word_limit(unit, threads, repeats) : limit(unit, threads, repeats);
  std::printf("{\"unit\": \"%s\", \"what\": \"%slimit\", \"tops\": %.3f}\n", unit.name, title, most / 1e12);
  for (const auto& [columns, depth] : std::vector<std::pair<int, int>>{{1536, 576}, {3072, 1024}, {9728, 2560}}) {
    for (const int rows : {32, 256}) {
      const PackedShape shape = words ? word_shape(columns, depth) : byte_shape(columns, depth);
      const double rate = product(unit, threads, repeats, rows, shape);
      std::printf("{\"unit\": \"%s\", \"what\": \"%sM %d N %d K %d\", \"tops\": %.3f, \"share\": %.3f}\n", unit.name,
                  title, rows, columns, depth, rate / 1e12, rate / most);
      std::fflush(stdout);
    }
  }
}

void measure(int threads, int repeats) {
  for (const Unit* unit : usable_units()) {
    if (unit == &scalar_unit()) continue;
    measure_width(*unit, threads, repeats, Width::kByte);
    measure_width(*unit, threads, repeats, Width::kWord);
  }
}

}  // namespace
}  // namespace assay::kernels

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  assay::kernels::measure(std::max(1, std::atoi(argv[1])), std::max(1, std::atoi(argv[2])));
  return 0;
}
