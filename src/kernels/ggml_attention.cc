#include "kernels/ggml_attention.h"

#include <ggml.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace assay::kernels {
namespace {

constexpr Half kMinusInfinity = 0xfc00;
constexpr std::int64_t kPanelsAtOnce = 4;

template <typename T>
const T* at(const ggml_tensor& tensor, std::int64_t i1, std::int64_t i2) {
  return reinterpret_cast<const T*>(static_cast<const std::byte*>(tensor.data) +
                                    static_cast<std::size_t>(i1) * tensor.nb[1] +
                                    static_cast<std::size_t>(i2) * tensor.nb[2]);
}

bool is_half_cache(const ggml_tensor& cells, std::int64_t depth) {
  return cells.type == GGML_TYPE_F16 && cells.nb[0] == sizeof(Half) && cells.ne[0] == depth && cells.ne[3] == 1 &&
         cells.ne[1] % kPanelCells == 0 && cells.ne[1] <= kAttentionCellsMax && cells.nb[1] % sizeof(Half) == 0;
}

// Rows by heads of one key-value head that make a block.
std::int32_t block_rows_of(const ggml_tensor& node) {
  const auto group = static_cast<std::int32_t>(node.src[0]->ne[2] / node.src[1]->ne[2]);
  return std::max(1, kAttentionRows / group);
}

bool sees(const ggml_tensor& mask, std::int32_t row, std::int32_t panel) {
  const Half* const cells = at<Half>(mask, row, 0) + static_cast<std::ptrdiff_t>(panel) * kPanelCells;
  return std::any_of(cells, cells + kPanelCells, [](Half h) { return h != kMinusInfinity; });
}

}  // namespace

bool takes_attention(const ggml_tensor& node) {
  if (node.op != GGML_OP_FLASH_ATTN_EXT || (node.flags & GGML_TENSOR_FLAG_COMPUTE) == 0) return false;
  if (chosen_attention() == nullptr || node.src[3] == nullptr || node.src[4] != nullptr) return false;
  float params[3];  // scale, bias by distance, soft cap
  std::memcpy(params, node.op_params, sizeof params);
  const ggml_tensor& q = *node.src[0];
  const ggml_tensor& k = *node.src[1];
  const ggml_tensor& v = *node.src[2];
  const ggml_tensor& mask = *node.src[3];
  const std::int64_t depth = q.ne[0];
  return params[1] == 0 && params[2] == 0 && depth % 16 == 0 && depth <= kAttentionDepthMax && q.ne[3] == 1 &&
         q.ne[1] > 1 && q.type == GGML_TYPE_F32 && q.nb[0] == sizeof(float) && is_half_cache(k, depth) &&
         is_half_cache(v, depth) && k.ne[1] == v.ne[1] && k.ne[2] == v.ne[2] && q.ne[2] % k.ne[2] == 0 &&
         q.ne[2] / k.ne[2] <= kAttentionRows && mask.type == GGML_TYPE_F16 && mask.ne[2] == 1 && mask.ne[3] == 1 &&
         mask.ne[0] == k.ne[1] && mask.ne[1] >= q.ne[1] && mask.nb[0] == sizeof(Half) && node.type == GGML_TYPE_F32 &&
         ggml_is_contiguous(&node);
}

void AttentionTasks::clear() {
  sights_.clear();
  tasks_.clear();
  keys_.drop_old();
}

const AttentionTasks::Sight* AttentionTasks::sight_of(const ggml_tensor& mask, std::int32_t rows,
                                                      std::int32_t block_rows, std::int32_t panels,
                                                      const AddNode& add_node) {
  for (const Sight& sight : sights_) {
    if (sight.mask == &mask && sight.rows == rows && sight.block_rows == block_rows) return &sight;
  }
  Sight& sight = sights_.emplace_back();
  const auto blocks = static_cast<std::size_t>((rows + block_rows - 1) / block_rows);
  sight.mask = &mask;
  sight.rows = rows;
  sight.block_rows = block_rows;
  sight.panels = panels;
  sight.lists.resize(blocks * static_cast<std::size_t>(panels));
  sight.counts.resize(blocks);
  sight.seen = std::vector<std::atomic<std::uint8_t>>(static_cast<std::size_t>(panels));
  add_node(look, &sight);
  return &sight;
}

bool AttentionTasks::add(ggml_tensor* node, const AddNode& add_node) {
  const ggml_tensor& q = *node->src[0];
  const ggml_tensor& k = *node->src[1];
  const auto panels = static_cast<std::int32_t>(k.ne[1] / kPanelCells);
  const auto count = static_cast<std::size_t>(k.ne[0] * k.ne[1] * k.ne[2]);
  auto* const keys = reinterpret_cast<float*>(keys_.need(count * sizeof(float)));
  if (keys == nullptr) return false;
  Task& task = tasks_.emplace_back();
  task.node = node;
  task.sight = sight_of(*node->src[3], static_cast<std::int32_t>(q.ne[1]), block_rows_of(*node), panels, add_node);
  task.keys = keys;
  add_node(pack, &task);
  add_node(attend, &task);
  return true;
}

void AttentionTasks::look(ggml_tensor*, int thread, int threads, void* user_data) {
  Sight& sight = *static_cast<Sight*>(user_data);
  const auto blocks = static_cast<std::int32_t>(sight.counts.size());
  for (std::int32_t block = thread; block < blocks; block += threads) {
    const std::int32_t end = std::min(sight.rows, (block + 1) * sight.block_rows);
    std::int32_t* const list = sight.lists.data() + static_cast<std::ptrdiff_t>(block) * sight.panels;
    std::int32_t count = 0;
    for (std::int32_t panel = 0; panel < sight.panels; panel++) {
      bool seen = false;
      for (std::int32_t row = block * sight.block_rows; row < end && !seen; row++) seen = sees(*sight.mask, row, panel);
      if (!seen) continue;
      list[count++] = panel;
      sight.seen[static_cast<std::size_t>(panel)].store(1, std::memory_order_relaxed);
    }
    sight.counts[static_cast<std::size_t>(block)] = count;
  }
}

void AttentionTasks::pack(ggml_tensor*, int, int, void* user_data) {
  Task& task = *static_cast<Task*>(user_data);
  const ggml_tensor& k = *task.node->src[1];
  const auto depth = static_cast<std::int32_t>(k.ne[0]);
  const std::int64_t panels = task.sight->panels;
  for (std::int64_t from = task.next_panel.fetch_add(kPanelsAtOnce); from < panels * k.ne[2];
       from = task.next_panel.fetch_add(kPanelsAtOnce)) {
    for (std::int64_t i = from; i < std::min(from + kPanelsAtOnce, panels * k.ne[2]); i++) {
      const std::int64_t panel = i % panels;
      if (task.sight->seen[static_cast<std::size_t>(panel)].load(std::memory_order_relaxed) == 0) continue;
      chosen_attention()->pack_keys(at<Half>(k, panel * kPanelCells, i / panels), k.nb[1], depth,
                                    task.keys + i * depth * kPanelCells);
    }
  }
}

void AttentionTasks::attend(ggml_tensor*, int, int, void* user_data) {
  Task& task = *static_cast<Task*>(user_data);
  const auto blocks = static_cast<std::int64_t>(task.sight->counts.size());
  const std::int64_t heads = task.node->src[1]->ne[2];
  // Late rows see most, so they go first and the short ones fill up the end.
  for (std::int64_t i = task.next_block++; i < blocks * heads; i = task.next_block++)
    attend_block(task, blocks - 1 - i / heads, i % heads);
}

void AttentionTasks::attend_block(const Task& task, std::int64_t row_block, std::int64_t head) {
  thread_local GrowingMemory scratch;
  const ggml_tensor& node = *task.node;
  const ggml_tensor& v = *node.src[2];
  const Sight& sight = *task.sight;
  const std::int64_t group = node.src[0]->ne[2] / v.ne[2];
  AttentionBlock block;
  block.depth = static_cast<std::int32_t>(v.ne[0]);
  std::memcpy(&block.scale, node.op_params, sizeof(float));
  block.keys = task.keys + head * sight.panels * block.depth * kPanelCells;
  block.values = at<Half>(v, 0, head);
  block.value_stride = v.nb[1];
  block.panels = sight.lists.data() + row_block * sight.panels;
  block.panel_count = sight.counts[static_cast<std::size_t>(row_block)];
  const std::int64_t end = std::min<std::int64_t>(sight.rows, (row_block + 1) * sight.block_rows);
  for (std::int64_t row = row_block * sight.block_rows; row < end; row++) {
    for (std::int64_t h = head * group; h < (head + 1) * group; h++, block.rows++) {
      block.queries[block.rows] = at<float>(*node.src[0], row, h);
      block.masks[block.rows] = at<Half>(*node.src[3], row, 0);
      block.out[block.rows] = const_cast<float*>(at<float>(node, h, row));
    }
  }
  std::byte* const memory = scratch.need(attention_scratch(block.panel_count, block.depth) * sizeof(float));
  ASSAY_ASSERT(memory != nullptr);
  scratch.drop_old();
  block.scratch = reinterpret_cast<float*>(memory);
  chosen_attention()->attend(block);
}

}  // namespace assay::kernels
