#pragma once
// Matrices in the device's buffers and graphs that multiply with them, for the tests of the device in ggml.

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "kernels/ggml_device.h"
#include "kernels/testing/relative_difference.h"

namespace assay::kernels::testing {

struct Deleters {
  void operator()(ggml_context* context) const { ggml_free(context); }
  void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
  void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleters>;

using Floats = std::vector<float>;

inline Floats random_floats(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  Floats out(static_cast<std::size_t>(count));
  for (float& x : out) x = normal(random);
  return out;
}

inline Owned<ggml_context> new_context() {
  return Owned<ggml_context>(ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
}

// A folder that is new and goes with the test.
class PackFolder {
 public:
  PackFolder() : path_(std::filesystem::temp_directory_path() / ("assay-device-packs-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~PackFolder() { std::filesystem::remove_all(path_); }
  PackFolder(const PackFolder&) = delete;
  PackFolder& operator=(const PackFolder&) = delete;
  std::string text() const { return path_.string(); }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  const std::filesystem::path path_;
};

// Rows of random numbers as a file of that type has them.
inline std::vector<std::byte> random_rows(ggml_type type, std::int64_t depth, std::int64_t rows, std::uint32_t seed) {
  const Floats floats = random_floats(depth * rows, seed);
  std::vector<std::byte> bytes(ggml_row_size(type, depth) * static_cast<std::size_t>(rows));
  const Floats importance(static_cast<std::size_t>(depth), 1.0F);
  ggml_quantize_chunk(type, floats.data(), bytes.data(), 0, rows, depth, importance.data());
  return bytes;
}

// Two matrices in one of our buffers, as llama.cpp would place them.
class Weights {
 public:
  Weights(ggml_type type, std::int64_t depth, std::int64_t columns, std::uint32_t seed) : context_(new_context()) {
    for (ggml_tensor*& tensor : tensors_) tensor = ggml_new_tensor_2d(context_.get(), type, depth, columns);
    ggml_backend_dev_t device = ggml_backend_dev_by_name("Assay");
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), ggml_backend_dev_buffer_type(device)));
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    set(0, seed);
    set(1, seed + 1);
  }
  void set(std::size_t which, std::uint32_t seed) {
    ggml_tensor* const tensor = tensors_[which];
    const std::vector<std::byte> bytes = random_rows(tensor->type, tensor->ne[0], tensor->ne[1], seed);
    ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
  }
  ggml_tensor* operator[](std::size_t which) const { return tensors_[which]; }

 private:
  Owned<ggml_context> context_;
  Owned<ggml_backend_buffer> buffer_;
  ggml_tensor* tensors_[2] = {};
};

inline Owned<ggml_backend> our_backend(int threads) {
  Owned<ggml_backend> backend(ggml_backend_dev_init(ggml_backend_dev_by_name("Assay"), nullptr));
  // As llama.cpp does it: the CPU's code may be a module.
  ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend.get()));
  reinterpret_cast<ggml_backend_set_n_threads_t>(
      ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"))(backend.get(), threads);
  return backend;
}

inline Owned<ggml_backend> plain_backend() {
  return Owned<ggml_backend>(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
}

// relu(w0 x) + w1 x: two products of the same rows with something between them.
inline Floats compute(ggml_backend* backend, const Weights& weights, const Floats& x, std::int64_t rows,
                      std::int64_t planes = 1) {
  const Owned<ggml_context> context = new_context();
  const std::int64_t depth = weights[0]->ne[0];
  ggml_tensor* const input = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, depth, rows / planes, planes);
  ggml_tensor* const first = ggml_relu(context.get(), ggml_mul_mat(context.get(), weights[0], input));
  ggml_tensor* const sum = ggml_add(context.get(), first, ggml_mul_mat(context.get(), weights[1], input));
  ggml_cgraph* const graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, sum);
  const Owned<ggml_backend_buffer> buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend));
  ggml_backend_tensor_set(input, x.data(), 0, ggml_nbytes(input));
  EXPECT_EQ(ggml_backend_graph_compute(backend, graph), GGML_STATUS_SUCCESS);
  Floats out(static_cast<std::size_t>(ggml_nelements(sum)));
  ggml_backend_tensor_get(sum, out.data(), 0, ggml_nbytes(sum));
  return out;
}

inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_is_worth_it()) GTEST_SKIP() << "only the scalar unit works here, so there is no device";
    static std::once_flag once;
    std::call_once(once, [] { ggml_backend_load_all(); });
    use_kernels(PackMode::kOn);
  }
  void TearDown() override { use_kernels(PackMode::kOff); }
};

}  // namespace assay::kernels::testing
