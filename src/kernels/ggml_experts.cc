#include "kernels/ggml_experts.h"

#include <ggml.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "kernels/ggml_weights.h"

// Threads take pieces of an expert's columns from one counter for all experts, those with most rows first: so an expert
// that has nearly all rows keeps all threads busy, and small ones fill up the end. Experts without many rows wait for
// memory and are given out in longer runs, so that what a unit fetches ahead is mostly its own thread's.

namespace assay::kernels {
namespace {

constexpr std::int32_t kManyRows = 96;
constexpr std::int64_t kPiecesTogether = 4;  // at most
constexpr std::int64_t kRunsEach = 4;        // that a thread has at least, where there are enough pieces

const std::byte* bytes_at(const ggml_tensor& tensor, std::int64_t i1, std::int64_t i2) {
  return static_cast<const std::byte*>(tensor.data) + static_cast<std::size_t>(i1) * tensor.nb[1] +
         static_cast<std::size_t>(i2) * tensor.nb[2];
}

}  // namespace

bool takes_experts(const ggml_tensor& node) {
  if (node.op != GGML_OP_MUL_MAT_ID || (node.flags & GGML_TENSOR_FLAG_COMPUTE) == 0) return false;
  if (packed_copy(*node.src[0]) == nullptr) return false;
  const ggml_tensor& x = *node.src[1];
  const ggml_tensor& ids = *node.src[2];
  return x.type == GGML_TYPE_F32 && x.nb[0] == sizeof(float) && x.ne[3] == 1 && ids.type == GGML_TYPE_I32 &&
         ids.nb[0] == sizeof(std::int32_t) && x.ne[1] > 0 && ids.ne[0] % x.ne[1] == 0 && ids.ne[1] == x.ne[2] &&
         node.type == GGML_TYPE_F32 && ggml_is_contiguous(&node) && ids.ne[0] * ids.ne[1] <= INT32_MAX &&
         node.src[0]->ne[2] < INT32_MAX;
}

void ExpertTasks::clear() {
  groupings_.clear();
  rows_tasks_.clear();
  product_tasks_.clear();
  memory_.drop_old();
}

const ExpertTasks::Grouping* ExpertTasks::grouping_of(const ggml_tensor& ids, std::int32_t experts,
                                                      const AddNode& add_node) {
  if (!groupings_.empty() && groupings_.back().ids == &ids && groupings_.back().experts == experts)
    return &groupings_.back();
  Grouping& grouping = groupings_.emplace_back();
  const auto pairs = static_cast<std::size_t>(ids.ne[0] * ids.ne[1]);
  grouping.ids = &ids;
  grouping.experts = experts;
  grouping.places.resize(pairs);
  grouping.pairs.resize(pairs);
  grouping.begins.resize(static_cast<std::size_t>(experts) + 1);
  grouping.groups.reserve(std::min(pairs, static_cast<std::size_t>(experts)));
  add_node(group, &grouping);
  return &grouping;
}

const ExpertTasks::RowsTask* ExpertTasks::rows_of(const ggml_tensor& x, const Grouping& grouping,
                                                  const PackedShape& shape, const AddNode& add_node) {
  if (!rows_tasks_.empty()) {
    const RowsTask& last = rows_tasks_.back();
    if (last.x == &x && last.grouping == &grouping && last.rows.group == shape.group && last.rows.width == shape.width)
      return &last;
  }
  const auto pairs = static_cast<std::int64_t>(grouping.places.size());
  std::byte* const memory = memory_.need(QuantisedRows::bytes(pairs, shape));
  if (memory == nullptr) return nullptr;
  RowsTask& task = rows_tasks_.emplace_back();
  task = {.x = &x, .grouping = &grouping, .rows = QuantisedRows::in(pairs, shape, memory)};
  task.rows.out_rows = grouping.pairs.data();
  add_node(quantise, &task);
  return &task;
}

bool ExpertTasks::add(ggml_tensor* node, const AddNode& add_node) {
  const ggml_tensor& weights = *node->src[0];
  const Grouping* const grouping = grouping_of(*node->src[2], static_cast<std::int32_t>(weights.ne[2]), add_node);
  const RowsTask* const rows = rows_of(*node->src[1], *grouping, shape_of(weights), add_node);
  if (rows == nullptr) return false;
  ProductTask& task = product_tasks_.emplace_back();
  task.node = node;
  task.rows = rows;
  add_node(multiply, &task);
  return true;
}

// Sorts pairs by expert; equal ones stay in order. A few thousand numbers at most, so one thread does it.
void ExpertTasks::group(ggml_tensor*, int thread, int, void* user_data) {
  if (thread != 0) return;
  Grouping& to = *static_cast<Grouping*>(user_data);
  const ggml_tensor& ids = *to.ids;
  const auto experts = static_cast<std::uint32_t>(to.experts);
  std::vector<std::int32_t>& begins = to.begins;
  std::fill(begins.begin(), begins.end(), 0);
  std::size_t pair = 0;
  for (std::int64_t token = 0; token < ids.ne[1]; token++) {
    const auto* const list = reinterpret_cast<const std::int32_t*>(bytes_at(ids, token, 0));
    for (std::int64_t i = 0; i < ids.ne[0]; i++, pair++) {
      const std::uint32_t expert = std::min(static_cast<std::uint32_t>(list[i]), experts);  // experts: none
      to.places[pair] = static_cast<std::int32_t>(expert);
      begins[expert]++;
    }
  }
  to.groups.clear();
  std::int32_t begin = 0;
  for (std::int32_t expert = 0; expert <= to.experts; expert++) {
    const std::int32_t rows = std::exchange(begins[static_cast<std::size_t>(expert)], begin);
    if (expert == to.experts) {
      to.with_expert = begin;
    } else if (rows > 0) {
      to.groups.push_back({.expert = expert, .first = begin, .rows = rows});
    }
    begin += rows;
  }
  for (std::size_t i = 0; i < pair; i++) {
    const std::int32_t place = begins[static_cast<std::size_t>(to.places[i])]++;
    to.places[i] = place;
    to.pairs[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(i);
  }
  std::sort(to.groups.begin(), to.groups.end(), [](const Group& a, const Group& b) {
    return std::tuple(-a.rows, a.expert) < std::tuple(-b.rows, b.expert);
  });
}

// A row that several experts get is quantised for the first of them and copied for the others.
void ExpertTasks::quantise(ggml_tensor*, int thread, int threads, void* user_data) {
  const RowsTask& task = *static_cast<const RowsTask*>(user_data);
  const Unit& unit = chosen_unit();
  const ggml_tensor& x = *task.x;
  const std::int64_t used = task.grouping->ids->ne[0];
  const std::int64_t rows = x.ne[1] * x.ne[2];
  for (std::int64_t row = rows * thread / threads; row < rows * (thread + 1) / threads; row++) {
    const std::int64_t token = row / x.ne[1];
    std::int32_t first = -1;
    for (std::int64_t i = row % x.ne[1]; i < used; i += x.ne[1]) {
      const std::int32_t place = task.grouping->places[static_cast<std::size_t>(token * used + i)];
      if (place >= task.grouping->with_expert) continue;
      if (first >= 0) {
        copy_row(task.rows, first, place);
      } else {
        quantise_row(unit, reinterpret_cast<const float*>(bytes_at(x, row % x.ne[1], token)), place, task.rows);
        first = place;
      }
    }
  }
}

void ExpertTasks::multiply(ggml_tensor*, int thread, int threads, void* user_data) {
  ProductTask& task = *static_cast<ProductTask*>(user_data);
  const Unit& unit = chosen_unit();
  const ggml_tensor& weights = *task.node->src[0];
  const PackedWeights& stack = *packed_copy(weights);
  const Grouping& grouping = *task.rows->grouping;
  const std::int64_t pieces = piece_count(unit, shape_of(weights));
  auto* const out = static_cast<float*>(task.node->data);
  const auto stride = static_cast<std::size_t>(task.node->ne[0]);
  if (thread == 0) {
    for (auto i = static_cast<std::size_t>(grouping.with_expert); i < grouping.pairs.size(); i++)
      std::memset(out + static_cast<std::size_t>(grouping.pairs[i]) * stride, 0, stride * sizeof(float));
  }
  if (unit.begin != nullptr) unit.begin(stack.shape.group);
  const std::int64_t all_pieces = pieces * static_cast<std::int64_t>(grouping.groups.size());
  const std::int64_t together = std::clamp<std::int64_t>(all_pieces / (kRunsEach * threads), 1, kPiecesTogether);
  std::int64_t begin = 0;  // of this expert's runs
  std::int64_t taken = task.next++;
  for (const Group& group : grouping.groups) {
    const std::int64_t run = group.rows < kManyRows ? together : 1;
    const std::int64_t end = begin + (pieces + run - 1) / run;
    for (; taken < end; taken = task.next++) {
      const PackedWeights expert = expert_of(stack, weights, group.expert);
      const QuantisedRows rows = task.rows->rows.part(group.first, group.rows);
      const std::int64_t piece = (taken - begin) * run;
      for (std::int64_t i = piece; i < std::min(piece + run, pieces); i++)
        multiply_piece(unit, expert, rows, i, out, stride);
    }
    begin = end;
  }
  if (unit.end != nullptr) unit.end();
}

}  // namespace assay::kernels
