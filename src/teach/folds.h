#pragma once
// Rows into folds, the same ones for the same seed on every machine.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::teach {

// Random numbers whose sequence is ours, not a library's: SplitMix64 (Steele, Lea and Flood 2014). One thread.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // 0 .. bound - 1, each equally likely. REQUIRES: bound > 0.
  std::size_t below(std::size_t bound);
  // The same rows in a random order.
  void shuffle(std::span<std::size_t> values);

 private:
  std::uint64_t state_;
};

// The rows of each class, in rising order: rows_by_class(classes)[k] are those whose class is k.
std::vector<std::vector<std::size_t>> rows_by_class(std::span<const std::size_t> classes);

// For each row the fold that it is in, 0 .. fold_count - 1. The rows of a class are dealt out one after another in a
// random order, each class going on where the one before stopped: so the sizes of two folds differ by at most one, and
// so do a class's rows in them. REQUIRES: fold_count > 0.
std::vector<std::size_t> stratified_folds(std::span<const std::size_t> classes, std::size_t fold_count,
                                          std::uint64_t seed);

}  // namespace assay::teach
