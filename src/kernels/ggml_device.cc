#include "kernels/ggml_device.h"

#include <ggml-backend-impl.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <atomic>
#include <mutex>

#include "kernels/ggml_graph.h"

namespace assay::kernels {
namespace {

std::atomic<PackMode> mode{PackMode::kOff};

ggml_backend_dev_t cpu_device() { return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU); }

const char* get_name(ggml_backend_dev_t) { return "Assay"; }
const char* get_description(ggml_backend_dev_t) { return chosen_unit().name; }
void get_memory(ggml_backend_dev_t, std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = 0;
  *total_bytes = 0;
}
enum ggml_backend_dev_type get_type(ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; }

void get_props(ggml_backend_dev_t device, ggml_backend_dev_props* props) {
  *props = {};
  props->name = get_name(device);
  props->description = get_description(device);
  props->type = GGML_BACKEND_DEVICE_TYPE_ACCEL;
  props->caps.buffer_from_host_ptr = true;
}

ggml_backend_t init_backend(ggml_backend_dev_t, const char* params) {
  ggml_backend_t backend = ggml_backend_dev_init(cpu_device(), params);
  if (backend != nullptr) take_over_products(backend);
  return backend;
}

ggml_backend_buffer_type_t get_buffer_type(ggml_backend_dev_t device) { return weights_buffer_type(device); }

ggml_backend_buffer_t buffer_from_host_ptr(ggml_backend_dev_t, void* memory, std::size_t bytes, std::size_t) {
  return weights_in(memory, bytes);
}

// Asked when a place for a weight is sought; the scheduler asks the CPU device.
bool supports_op(ggml_backend_dev_t, const ggml_tensor* op) {
  const PackMode now = mode;
  const bool taken = op->op == GGML_OP_MUL_MAT      ? now != PackMode::kOff && op->src[0]->ne[2] == 1
                     : op->op == GGML_OP_MUL_MAT_ID ? now == PackMode::kOn
                                                    : false;
  return taken && can_pack(*op->src[0]) && op->src[1]->type == GGML_TYPE_F32;
}

bool supports_buft(ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return ggml_backend_buft_is_host(type); }

const char* reg_name(ggml_backend_reg_t) { return "Assay"; }
std::size_t device_count(ggml_backend_reg_t) { return 1; }
ggml_backend_dev_t get_device(ggml_backend_reg_t reg, std::size_t index);

ggml_backend_reg registry = {
    .api_version = GGML_BACKEND_API_VERSION,
    .iface = {.get_name = reg_name,
              .get_device_count = device_count,
              .get_device = get_device,
              .get_proc_address = nullptr},
    .context = nullptr,
};

ggml_backend_device device = {
    .iface = {.get_name = get_name,
              .get_description = get_description,
              .get_memory = get_memory,
              .get_type = get_type,
              .get_props = get_props,
              .init_backend = init_backend,
              .get_buffer_type = get_buffer_type,
              .get_host_buffer_type = nullptr,
              .buffer_from_host_ptr = buffer_from_host_ptr,
              .supports_op = supports_op,
              .supports_buft = supports_buft,
              .offload_op = nullptr,
              .event_new = nullptr,
              .event_free = nullptr,
              .event_synchronize = nullptr},
    .reg = &registry,
    .context = nullptr,
};

ggml_backend_dev_t get_device(ggml_backend_reg_t, std::size_t) { return &device; }

}  // namespace

bool device_is_worth_it() { return &chosen_unit() != &scalar_unit(); }

bool device_is_tried() { return !chosen_unit().untried; }

void use_kernels(PackMode wanted) {
  if (!device_is_worth_it()) return;
  mode = wanted;
  if (wanted == PackMode::kOff) return;
  static std::once_flag once;
  std::call_once(once, [] {
    weights_buffer_type(&device);  // the first call names the device
    ggml_backend_register(&registry);
  });
}

PackMode kernels_mode() { return mode; }

std::string unit_name() { return chosen_unit().name; }

}  // namespace assay::kernels
