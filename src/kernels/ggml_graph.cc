#include "kernels/ggml_graph.h"

#include <ggml-backend-impl.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "kernels/ggml_attention.h"
#include "kernels/ggml_experts.h"
#include "kernels/ggml_weights.h"
#include "kernels/graph_tasks.h"
#include "kernels/product.h"

// For each graph a second one is made: the same nodes, but each product of ours becomes a custom node, and before the
// first product of some rows comes a custom node that quantises them. ggml computes it with its own threads, and with
// its barrier after each node. Products with the same rows (q, k, v; gate, up) share what was quantised.

namespace assay::kernels {
namespace {

struct FreeContext {
  void operator()(ggml_context* context) const { ggml_free(context); }
};

constexpr std::int32_t kRowsInOrder = 4;

struct QuantiseTask {
  const ggml_tensor* x = nullptr;
  QuantisedRows rows;
};

struct ProductTask {
  const ggml_tensor* weights = nullptr;
  const PackedWeights* packed = nullptr;  // null: packed piece by piece
  QuantisedRows rows;
  ggml_tensor* out = nullptr;
  std::atomic<std::int64_t> next{0};
};

class Rewriter {
 public:
  explicit Rewriter(ggml_status (*compute)(ggml_backend_t, ggml_cgraph*)) : compute_(compute) {}

  ggml_status run(ggml_backend_t backend, ggml_cgraph* graph) {
    const int nodes = ggml_graph_n_nodes(graph);
    bool any = false;
    for (int i = 0; i < nodes && !any; i++) {
      const ggml_tensor& node = *ggml_graph_node(graph, i);
      any = is_product(node) || takes_experts(node);
    }
    if (!any) return compute_(backend, graph);
    finish_packing_behind();
    prepare(nodes);
    const auto add = [this](ggml_custom_op_t function, void* task) { add_custom(function, task); };
    for (int i = 0; i < nodes; i++) {
      ggml_tensor* const node = ggml_graph_node(graph, i);
      if (is_product(*node)) {
        if (!add_product(node)) return GGML_STATUS_ALLOC_FAILED;
      } else if (takes_experts(*node)) {
        if (!experts_.add(node, add)) return GGML_STATUS_ALLOC_FAILED;
      } else if (takes_attention(*node)) {
        if (!attention_.add(node, add)) return GGML_STATUS_ALLOC_FAILED;
      } else {
        ggml_graph_add_node(graph_, node);
      }
    }
    return compute_(backend, graph_);
  }

 private:
  static bool is_product(const ggml_tensor& node) {
    if (node.op != GGML_OP_MUL_MAT || (node.flags & GGML_TENSOR_FLAG_COMPUTE) == 0) return false;
    if (!is_ours(*node.src[0]) || node.src[0]->ne[2] != 1) return false;
    const ggml_tensor& rows = *node.src[1];
    const std::int64_t count = ggml_nrows(&rows);
    if (count < (packed_copy(*node.src[0]) != nullptr ? 1 : 2)) return false;
    return rows.type == GGML_TYPE_F32 && rows.nb[0] == sizeof(float) && node.type == GGML_TYPE_F32 &&
           ggml_is_contiguous(&node) && count <= INT32_MAX;
  }

  // Room for a graph where each node became up to four. Tasks stay where they are while the graph computes.
  void prepare(int nodes) {
    const auto size = static_cast<std::size_t>(nodes) * 4;
    if (size > graph_size_) {
      graph_size_ = size * 2;
      context_bytes_ = ggml_graph_overhead_custom(graph_size_, false) + graph_size_ * ggml_tensor_overhead();
      context_memory_.resize(context_bytes_);
    }
    context_.reset();
    context_.reset(ggml_init({.mem_size = context_bytes_, .mem_buffer = context_memory_.data(), .no_alloc = true}));
    graph_ = ggml_new_graph_custom(context_.get(), graph_size_, false);
    quantise_tasks_.clear();
    product_tasks_.clear();
    experts_.clear();
    attention_.clear();
    rows_memory_.drop_old();
    quantised_ = {};
    quantised_x_ = nullptr;
  }

  void add_custom(ggml_custom_op_t function, void* task) {
    ggml_tensor* const node =
        ggml_custom_4d(context_.get(), GGML_TYPE_F32, 1, 1, 1, 1, nullptr, 0, function, GGML_N_TASKS_MAX, task);
    node->data = &nothing_;
    node->flags |= GGML_TENSOR_FLAG_COMPUTE;
    ggml_graph_add_node(graph_, node);
  }

  bool add_product(ggml_tensor* node) {
    const ggml_tensor& weights = *node->src[0];
    const PackedShape shape = shape_of(weights);
    if (quantised_x_ != node->src[1] || quantised_.group != shape.group || quantised_.width != shape.width) {
      if (!add_quantising(node->src[1], shape)) return false;
    }
    ProductTask& task = product_tasks_.emplace_back();
    task.weights = &weights;
    task.packed = packed_copy(weights);
    task.rows = quantised_;
    task.out = node;
    add_custom(multiply, &task);
    return true;
  }

  bool add_quantising(const ggml_tensor* x, const PackedShape& shape) {
    const std::int64_t rows = ggml_nrows(x);
    std::byte* const memory = rows_memory_.need(QuantisedRows::bytes(rows, shape));
    if (memory == nullptr) return false;
    quantised_ = QuantisedRows::in(rows, shape, memory);
    quantised_x_ = x;
    QuantiseTask& task = quantise_tasks_.emplace_back();
    task = {.x = x, .rows = quantised_};
    add_custom(quantise, &task);
    return true;
  }

  static void quantise(ggml_tensor*, int thread, int threads, void* user_data) {
    const QuantiseTask& task = *static_cast<const QuantiseTask*>(user_data);
    const ggml_tensor& x = *task.x;
    const Unit& unit = chosen_unit();
    const std::int64_t rows = task.rows.rows;
    for (std::int64_t row = rows * thread / threads; row < rows * (thread + 1) / threads; row++) {
      const std::int64_t i1 = row % x.ne[1];
      const std::int64_t i2 = row / x.ne[1] % x.ne[2];
      const std::int64_t i3 = row / (x.ne[1] * x.ne[2]);
      const auto* const from = static_cast<const std::byte*>(x.data) + static_cast<std::size_t>(i1) * x.nb[1] +
                               static_cast<std::size_t>(i2) * x.nb[2] + static_cast<std::size_t>(i3) * x.nb[3];
      quantise_row(unit, reinterpret_cast<const float*>(from), static_cast<std::int32_t>(row), task.rows);
    }
  }

  // Pieces go to whoever is free; those of few rows are read once and in their order, so that each thread's next ones
  // are fetched early.
  static void multiply(ggml_tensor*, int thread, int threads, void* user_data) {
    ProductTask& task = *static_cast<ProductTask*>(user_data);
    const Unit& unit = chosen_unit();
    const PackedShape shape = task.packed != nullptr ? task.packed->shape : shape_of(*task.weights);
    const std::int64_t pieces = piece_count(unit, shape);
    auto* const out = static_cast<float*>(task.out->data);
    const auto stride = static_cast<std::size_t>(task.out->ne[0]);
    if (unit.begin != nullptr) unit.begin(shape.group);
    const bool in_order = task.rows.rows <= kRowsInOrder;
    const std::int64_t end = in_order ? pieces * (thread + 1) / threads : pieces;
    const auto next = [&](std::int64_t piece) { return in_order ? piece + 1 : task.next++; };
    for (std::int64_t piece = in_order ? pieces * thread / threads : task.next++; piece < end; piece = next(piece)) {
      if (task.packed != nullptr) {
        multiply_piece(unit, *task.packed, task.rows, piece, out, stride);
      } else {
        multiply_unpacked(unit, task, shape, piece, out, stride);
      }
    }
    if (unit.end != nullptr) unit.end();
  }

  // Packs one piece of the weights into memory of this thread, as a matrix of its own.
  static void multiply_unpacked(const Unit& unit, const ProductTask& task, const PackedShape& shape, std::int64_t piece,
                                float* out, std::size_t stride) {
    thread_local GrowingMemory pieces;
    const std::int64_t panel = piece * unit.panels_max;
    const std::int64_t column = panel * kPanelColumns;
    PackedShape part = shape;
    part.columns = std::min<std::int64_t>(std::int64_t{unit.panels_max} * kPanelColumns, shape.columns - column);
    const std::size_t packed_bytes = (part.bytes() + 63) / 64 * 64;
    std::byte* const memory = pieces.need(packed_bytes + slice_floats(*task.weights) * sizeof(float));
    ASSAY_ASSERT(memory != nullptr);
    pieces.drop_old();
    const PackedWeights packed = PackedWeights::in(part, memory);
    pack_panels(*task.weights, panel, part.panels(), packed, 0, reinterpret_cast<float*>(memory + packed_bytes));
    multiply_piece(unit, packed, task.rows, 0, out + column, stride);
  }

  ggml_status (*const compute_)(ggml_backend_t, ggml_cgraph*);
  std::vector<std::byte> context_memory_;
  std::size_t context_bytes_ = 0;
  std::size_t graph_size_ = 0;
  std::unique_ptr<ggml_context, FreeContext> context_;
  ggml_cgraph* graph_ = nullptr;
  std::deque<QuantiseTask> quantise_tasks_;  // their addresses stay
  std::deque<ProductTask> product_tasks_;
  ExpertTasks experts_;
  AttentionTasks attention_;
  GrowingMemory rows_memory_;
  QuantisedRows quantised_;
  const ggml_tensor* quantised_x_ = nullptr;
  float nothing_ = 0;
};

struct Taken {
  std::unique_ptr<Rewriter> rewriter;
  void (*free_backend)(ggml_backend_t) = nullptr;
};

std::mutex taken_mutex;  // guards the map, not what it points at
std::unordered_map<ggml_backend_t, Taken>
    taken;  // NOLINT(cert-err58-cpp): backends have no place for a pointer of ours

Rewriter& rewriter_of(ggml_backend_t backend) {
  const std::lock_guard<std::mutex> lock(taken_mutex);
  return *taken.at(backend).rewriter;
}

ggml_status compute_graph(ggml_backend_t backend, ggml_cgraph* graph) {
  return rewriter_of(backend).run(backend, graph);
}

void free_backend(ggml_backend_t backend) {
  Taken ours;
  {
    const std::lock_guard<std::mutex> lock(taken_mutex);
    ours = std::move(taken.at(backend));
    taken.erase(backend);
  }
  ours.free_backend(backend);
}

}  // namespace

void take_over_products(ggml_backend* backend) {
  const std::lock_guard<std::mutex> lock(taken_mutex);
  taken[backend] = {.rewriter = std::make_unique<Rewriter>(backend->iface.graph_compute),
                    .free_backend = backend->iface.free};
  backend->iface.graph_compute = compute_graph;
  backend->iface.free = free_backend;
}

}  // namespace assay::kernels
