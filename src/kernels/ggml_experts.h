#pragma once
// Products by expert (ggml's MUL_MAT_ID) on this room's units: each row goes through the weights of the experts that
// are named for it.
//
// A row is quantised once; rows of one expert are laid one behind the other and go through its packed weights together,
// as the rows of any product do, and the sums go back to where ggml wants them. So a row's bits are those of a plain
// product of this row with this expert's weights, whatever rows stand beside it and however they fall to experts.

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "kernels/graph_tasks.h"
#include "kernels/product.h"

namespace assay::kernels {

// Whether `node` is a product by expert with weights that have a packed copy. Rows may be one for each token, which all
// its experts take, or one for each of them.
bool takes_experts(const ggml_tensor& node);

// The tasks of one graph. Each node becomes up to three: which rows each expert gets (once for each list of experts),
// rows into integers in that order (once for rows and list, so gate and up share them), the products. Numbers in a list
// that are no expert's make rows of zeros.
class ExpertTasks {
 public:
  // Forgets the last graph; memory is kept.
  void clear();
  // Errors: false when memory is short. REQUIRES: takes_experts(*node).
  bool add(ggml_tensor* node, const AddNode& add_node);

 private:
  struct Group {
    std::int32_t expert = 0;
    std::int32_t first = 0;  // place of its first row
    std::int32_t rows = 0;
  };
  // Pairs of a token and an expert, counted as ggml counts rows of the result. Each has a place in the order of
  // experts; those of no expert come last.
  struct Grouping {
    const ggml_tensor* ids = nullptr;
    std::int32_t experts = 0;
    std::vector<std::int32_t> places;  // [pairs]
    std::vector<std::int32_t> pairs;   // [places], the other way round
    std::vector<std::int32_t> begins;  // [experts + 1]
    std::vector<Group> groups;         // experts that have rows, those with most of them first
    std::int32_t with_expert = 0;      // pairs before those of no expert
  };
  struct RowsTask {
    const ggml_tensor* x = nullptr;
    const Grouping* grouping = nullptr;
    QuantisedRows rows;  // [places]
  };
  struct ProductTask {
    const ggml_tensor* node = nullptr;
    const RowsTask* rows = nullptr;
    std::atomic<std::int64_t> next{0};
  };

  const Grouping* grouping_of(const ggml_tensor& ids, std::int32_t experts, const AddNode& add_node);
  const RowsTask* rows_of(const ggml_tensor& x, const Grouping& grouping, const PackedShape& shape,
                          const AddNode& add_node);
  static void group(ggml_tensor*, int thread, int threads, void* user_data);
  static void quantise(ggml_tensor*, int thread, int threads, void* user_data);
  static void multiply(ggml_tensor*, int thread, int threads, void* user_data);

  std::deque<Grouping> groupings_;  // their addresses stay
  std::deque<RowsTask> rows_tasks_;
  std::deque<ProductTask> product_tasks_;
  GrowingMemory memory_;  // of the last rows task
};

}  // namespace assay::kernels
