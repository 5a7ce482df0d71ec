#pragma once
// What a decode takes, learnt from those that were: a row costs a fixed time and a time for each row before it that it
// attends to. So steps can be cut to a wanted length at any depth, and a short prompt after a long one is not taken for
// as slow.
//
// Costs are counted in units: a row at depth d is 1 + depth_weight() * d units. The weight is what the model and the
// kernels are, and is learnt slowly (least squares on relative errors, old steps fading); units a second are what the
// machine does now, and are learnt fast.

#include <cstdint>

namespace assay::engine {

// Not thread-safe.
class StepCost {
 public:
  // Decodes of fewer than `few_rows` rows take about as long as one of so many.
  explicit StepCost(std::int32_t few_rows) : few_rows_(few_rows) {}

  // A decode of `rows` rows at depths that sum up to `depths` took `ms`. REQUIRES: rows > 0, depths >= 0. Nothing is
  // learnt where ms <= 0. The first decode after a start finds nothing in memory and may take a hundred times as long
  // as the second, which takes its place. Few rows are dear ones: once a decode of more units than few_rows was seen,
  // what decodes of fewer take counts only where it is less than was thought.
  void learn(std::int32_t rows, double depths, double ms);

  // In [0, 0.1]; 0 until decodes at different depths were seen.
  double depth_weight() const { return depth_weight_; }
  // 0 before the first decode.
  double units_per_second() const { return units_per_second_; }
  // The same at the machine's best of late, decodes of few rows taken for ones of few_rows: whoever asks for more than
  // that gives asks for too much. 0 before two decodes.
  double best_units_per_second() const { return decodes_ >= 2 ? best_units_per_second_ : 0; }
  double units(std::int32_t rows, double depths) const { return rows + depth_weight_ * depths; }
  // Of `rows` rows one after another, the last one at depth `end` - 1.
  double units_up_to(std::int32_t rows, std::int32_t end) const;
  // How many rows one after another, the first one at depth `from`, have no more than so many units; 0 or more.
  std::int32_t rows_within(double units, std::int32_t from) const;

 private:
  const std::int32_t few_rows_;
  // Sums over steps, fading, each step's numbers divided by its time.
  double rows_rows_ = 0;
  double rows_depths_ = 0;
  double depths_depths_ = 0;
  double rows_ = 0;
  double depths_ = 0;
  double depth_weight_ = 0;
  double units_per_second_ = 0;
  double best_units_per_second_ = 0;
  std::int64_t decodes_ = 0;
  bool has_seen_much_ = false;  // a decode of few_rows units or more
};

}  // namespace assay::engine
