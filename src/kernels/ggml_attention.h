#pragma once
// Attention nodes of a ggml graph on this room's attention unit.

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "kernels/attention.h"
#include "kernels/graph_tasks.h"

namespace assay::kernels {

// Whether `node` is flash attention of a kind that the unit computes: half-precision keys and values, heads of at most
// 256, one mask for all heads, no bias by distance, soft cap or sinks, two rows or more (one row has its own code in
// ggml).
bool takes_attention(const ggml_tensor& node);

// The tasks of one graph. Each node becomes up to three: which panels of cells the rows see (once for each mask), keys
// into panels, rows over panels.
class AttentionTasks {
 public:
  // Forgets the last graph; memory is kept.
  void clear();
  // Errors: false when memory is short. REQUIRES: takes_attention(*node).
  bool add(ggml_tensor* node, const AddNode& add_node);

 private:
  // What blocks of rows see of a mask.
  struct Sight {
    const ggml_tensor* mask = nullptr;
    std::int32_t rows = 0;
    std::int32_t block_rows = 0;
    std::int32_t panels = 0;
    std::vector<std::int32_t> lists;              // [blocks][panels]: those seen, ascending
    std::vector<std::int32_t> counts;             // [blocks]
    std::vector<std::atomic<std::uint8_t>> seen;  // [panels]: by any block
  };
  struct Task {
    ggml_tensor* node = nullptr;
    const Sight* sight = nullptr;
    float* keys = nullptr;
    std::atomic<std::int64_t> next_panel{0};
    std::atomic<std::int64_t> next_block{0};
  };

  const Sight* sight_of(const ggml_tensor& mask, std::int32_t rows, std::int32_t block_rows, std::int32_t panels,
                        const AddNode& add_node);
  static void look(ggml_tensor*, int thread, int threads, void* user_data);
  static void pack(ggml_tensor*, int thread, int threads, void* user_data);
  static void attend(ggml_tensor*, int thread, int threads, void* user_data);
  static void attend_block(const Task& task, std::int64_t row_block, std::int64_t head);

  std::deque<Sight> sights_;  // their addresses stay
  std::deque<Task> tasks_;
  GrowingMemory keys_;
};

}  // namespace assay::kernels
