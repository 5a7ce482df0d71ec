// One layer's matrix products with ggml's own code and with ours, in turns, for docs/kernels.md:
// products_bench THREADS REPEATS WIDTH WIDE [TYPE...]
//
// A layer has four matrices [WIDTH, WIDTH], two [WIDTH, WIDE] and one [WIDE, WIDTH]; there are as many layers as make
// 96 MiB and more, so that weights come from memory. For each type (F16, BF16, F32, or any name of ggml's; all three
// floats when none is named) and number of rows one JSON object a line: the fastest of REPEATS turns of each side in
// milliseconds, the median of their ratios, and its least and greatest.

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ggml_device.h"

namespace assay::kernels {
namespace {

struct Deleters {
  void operator()(ggml_context* context) const { ggml_free(context); }
  void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
  void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleters>;

struct Shape {
  ggml_type type = GGML_TYPE_F16;
  std::int64_t width = 0;
  std::int64_t wide = 0;
  int layers = 1;
};

Owned<ggml_context> new_context() {
  return Owned<ggml_context>(ggml_init({.mem_size = std::size_t{16} << 20, .mem_buffer = nullptr, .no_alloc = true}));
}

void fill(ggml_tensor* tensor, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.05F);
  std::vector<float> floats(static_cast<std::size_t>(ggml_nelements(tensor)));
  std::vector<float> some(4099);
  for (float& x : some) x = normal(random);
  for (std::size_t i = 0; i < floats.size(); i++) floats[i] = some[i % some.size()];
  std::vector<std::byte> bytes(ggml_nbytes(tensor));
  const std::vector<float> importance(static_cast<std::size_t>(tensor->ne[0]), 1.0F);
  ggml_quantize_chunk(tensor->type, floats.data(), bytes.data(), 0, tensor->ne[1], tensor->ne[0], importance.data());
  ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
}

// The layers' weights in one of the device's buffers; ggml's own backend reads them there as well.
class Layers {
 public:
  explicit Layers(const Shape& shape) : context_(new_context()) {
    for (int layer = 0; layer < shape.layers; layer++) {
      for (int i = 0; i < 4; i++) add(shape.type, shape.width, shape.width);
      for (int i = 0; i < 2; i++) add(shape.type, shape.width, shape.wide);
      add(shape.type, shape.wide, shape.width);
    }
    ggml_backend_dev_t device = ggml_backend_dev_by_name("Assay");
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), ggml_backend_dev_buffer_type(device)));
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    for (std::size_t i = 0; i < tensors_.size(); i++) fill(tensors_[i], static_cast<std::uint32_t>(i));
  }
  const std::vector<ggml_tensor*>& tensors() const { return tensors_; }

 private:
  void add(ggml_type type, std::int64_t depth, std::int64_t columns) {
    tensors_.push_back(ggml_new_tensor_2d(context_.get(), type, depth, columns));
  }
  Owned<ggml_context> context_;
  Owned<ggml_backend_buffer> buffer_;
  std::vector<ggml_tensor*> tensors_;
};

// All products of the layers with the same rows, on one backend.
class Graph {
 public:
  Graph(ggml_backend* backend, const Layers& layers, std::int64_t rows) : backend_(backend), context_(new_context()) {
    graph_ = ggml_new_graph(context_.get());
    std::vector<ggml_tensor*> inputs;
    for (ggml_tensor* const weights : layers.tensors()) {
      ggml_tensor* input = nullptr;
      for (ggml_tensor* const known : inputs) input = known->ne[0] == weights->ne[0] ? known : input;
      if (input == nullptr) {
        input = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, weights->ne[0], rows);
        inputs.push_back(input);
      }
      ggml_build_forward_expand(graph_, ggml_mul_mat(context_.get(), weights, input));
    }
    buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend));
    for (ggml_tensor* const input : inputs) fill(input, 7);
  }
  double milliseconds() {
    const auto begin = std::chrono::steady_clock::now();
    if (ggml_backend_graph_compute(backend_, graph_) != GGML_STATUS_SUCCESS) std::abort();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  ggml_backend* backend_;
  Owned<ggml_context> context_;
  ggml_cgraph* graph_ = nullptr;
  Owned<ggml_backend_buffer> buffer_;
};

void set_threads(ggml_backend* backend, int threads) {
  ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
  reinterpret_cast<ggml_backend_set_n_threads_t>(
      ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"))(backend, threads);
}

void measure(const Shape& shape, int threads, int repeats) {
  const Layers layers(shape);
  if (!pack_weights(threads, {}).complete) std::abort();
  const Owned<ggml_backend> theirs(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
  const Owned<ggml_backend> ours(ggml_backend_dev_init(ggml_backend_dev_by_name("Assay"), nullptr));
  set_threads(theirs.get(), threads);
  set_threads(ours.get(), threads);
  for (const std::int64_t rows : {1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512}) {
    Graph plain(theirs.get(), layers, rows);
    Graph packed(ours.get(), layers, rows);
    plain.milliseconds();
    packed.milliseconds();
    double best[2] = {1e9, 1e9};
    std::vector<double> ratios;
    for (int i = 0; i < repeats; i++) {
      const double a = plain.milliseconds();
      const double b = packed.milliseconds();
      best[0] = std::min(best[0], a);
      best[1] = std::min(best[1], b);
      ratios.push_back(a / b);
    }
    std::ranges::sort(ratios);
    std::printf(
        "{\"type\": \"%s\", \"width\": %d, \"wide\": %d, \"layers\": %d, \"rows\": %d, \"ggml_ms\": %.3f, \"ours_ms\": "
        "%.3f, \"ratio\": %.2f, \"least\": %.2f, \"greatest\": %.2f}\n",
        ggml_type_name(shape.type), static_cast<int>(shape.width), static_cast<int>(shape.wide), shape.layers,
        static_cast<int>(rows), best[0], best[1], ratios[ratios.size() / 2], ratios.front(), ratios.back());
    std::fflush(stdout);
  }
}

ggml_type type_named(std::string_view name) {
  for (int i = 0; i < GGML_TYPE_COUNT; i++) {
    const char* const known = ggml_type_name(static_cast<ggml_type>(i));
    if (known != nullptr && name == known) return static_cast<ggml_type>(i);
  }
  return GGML_TYPE_COUNT;
}

int run(int argc, char** argv) {
  std::vector<ggml_type> types;
  for (int i = 5; i < argc; i++) types.push_back(type_named(argv[i]));
  if (types.empty()) types = {GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32};
  ggml_backend_load_all();
  use_kernels(PackMode::kOn);
  if (!device_is_worth_it()) return 1;
  for (const ggml_type type : types) {
    if (type == GGML_TYPE_COUNT) return 2;
    Shape shape{.type = type, .width = std::atoi(argv[3]), .wide = std::atoi(argv[4])};
    const std::size_t layer =
        static_cast<std::size_t>(4 * shape.width + 3 * shape.wide) * ggml_row_size(type, shape.width);
    shape.layers = static_cast<int>(((std::size_t{96} << 20) + layer - 1) / layer);
    measure(shape, std::max(1, std::atoi(argv[1])), std::max(1, std::atoi(argv[2])));
  }
  return 0;
}

}  // namespace
}  // namespace assay::kernels

int main(int argc, char** argv) { return argc < 5 ? 2 : assay::kernels::run(argc, argv); }
