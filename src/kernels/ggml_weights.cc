#include "kernels/ggml_weights.h"

#include <ggml-backend-impl.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "base/assert.h"

// Each weight tensor that can be packed has an entry in its buffer, and `extra` points at it. Entries are made when
// ggml places a tensor in a buffer that is not one for computing.

namespace assay::kernels {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::int64_t kStepPanels = 8;  // that a thread packs at a time

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

struct Entry {
  const ggml_tensor* tensor = nullptr;
  PackedWeights packed;
  Memory memory;  // null: no copy
};

struct Buffer {
  std::byte* memory = nullptr;
  bool owns = false;
  std::list<Entry> entries;  // pointers into it stay valid
};

std::mutex buffers_mutex;   // guards buffers, and all entries while weights are packed or counted
std::set<Buffer*> buffers;  // NOLINT(cert-err58-cpp): ggml's registry is one for the process

Buffer& buffer_of(ggml_backend_buffer_t buffer) { return *static_cast<Buffer*>(buffer->context); }

Memory allocate(std::size_t bytes) {
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(alignment, std::max(whole, alignment))));
  if (memory && alignment == kHugePage) madvise(memory.get(), whole, MADV_HUGEPAGE);
  return memory;
}

void free_buffer(ggml_backend_buffer_t buffer) {
  Buffer* const ours = &buffer_of(buffer);
  {
    const std::lock_guard<std::mutex> lock(buffers_mutex);
    buffers.erase(ours);
  }
  if (ours->owns) std::free(ours->memory);
  delete ours;
}

void* get_base(ggml_backend_buffer_t buffer) { return buffer_of(buffer).memory; }

ggml_status init_tensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor) {
  if (buffer->usage == GGML_BACKEND_BUFFER_USAGE_COMPUTE || tensor->view_src != nullptr || !can_pack(*tensor))
    return GGML_STATUS_SUCCESS;
  const std::lock_guard<std::mutex> lock(buffers_mutex);
  buffer_of(buffer).entries.push_back({.tensor = tensor, .packed = {}, .memory = {}});
  tensor->extra = &buffer_of(buffer).entries.back();
  return GGML_STATUS_SUCCESS;
}

// The plain weights change: a copy of the old ones must not be used.
void forget_copy(const ggml_tensor& tensor) {
  if (tensor.extra != nullptr) static_cast<Entry*>(tensor.extra)->memory.reset();
}

void memset_tensor(ggml_backend_buffer_t, ggml_tensor* tensor, std::uint8_t value, std::size_t offset,
                   std::size_t size) {
  forget_copy(*tensor);
  std::memset(static_cast<std::byte*>(tensor->data) + offset, value, size);
}

void set_tensor(ggml_backend_buffer_t, ggml_tensor* tensor, const void* data, std::size_t offset, std::size_t size) {
  forget_copy(*tensor);
  std::memcpy(static_cast<std::byte*>(tensor->data) + offset, data, size);
}

void get_tensor(ggml_backend_buffer_t, const ggml_tensor* tensor, void* data, std::size_t offset, std::size_t size) {
  std::memcpy(data, static_cast<const std::byte*>(tensor->data) + offset, size);
}

void clear(ggml_backend_buffer_t buffer, std::uint8_t value) {
  for (const Entry& entry : buffer_of(buffer).entries) forget_copy(*entry.tensor);
  std::memset(buffer_of(buffer).memory, value, buffer->size);
}

constexpr ggml_backend_buffer_i kBufferCalls = {.free_buffer = free_buffer,
                                                .get_base = get_base,
                                                .init_tensor = init_tensor,
                                                .memset_tensor = memset_tensor,
                                                .set_tensor = set_tensor,
                                                .get_tensor = get_tensor,
                                                .set_tensor_2d = nullptr,
                                                .get_tensor_2d = nullptr,
                                                .cpy_tensor = nullptr,
                                                .clear = clear,
                                                .reset = nullptr};

ggml_backend_buffer_t new_buffer(ggml_backend_buffer_type_t type, std::byte* memory, std::size_t bytes, bool owns) {
  auto* const ours = new (std::nothrow) Buffer{.memory = memory, .owns = owns, .entries = {}};
  if (ours == nullptr) return nullptr;
  {
    const std::lock_guard<std::mutex> lock(buffers_mutex);
    buffers.insert(ours);
  }
  return ggml_backend_buffer_init(type, kBufferCalls, ours, bytes);
}

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, std::size_t bytes) {
  Memory memory = allocate(bytes);
  return memory ? new_buffer(type, memory.release(), bytes, true) : nullptr;
}

const char* type_name(ggml_backend_buffer_type_t) { return "Assay"; }
std::size_t get_alignment(ggml_backend_buffer_type_t) { return kAlignment; }
bool is_host(ggml_backend_buffer_type_t) { return true; }

PackTotals count(bool with_copy) {
  const std::lock_guard<std::mutex> lock(buffers_mutex);
  PackTotals totals;
  for (const Buffer* buffer : buffers) {
    for (const Entry& entry : buffer->entries) {
      if ((entry.memory != nullptr) != with_copy) continue;
      totals.tensors++;
      totals.plain_bytes += ggml_nbytes(entry.tensor);
      totals.packed_bytes += shape_of(*entry.tensor).bytes();
    }
  }
  return totals;
}

// Threads take steps of a few panels of one tensor after another.
struct Work {
  std::vector<Entry*> entries;
  std::vector<std::int64_t> first_step;  // of each entry; one more at the end
  std::atomic<std::int64_t> next{0};
};

void pack_steps(Work& work, const std::function<void(float)>& progress) {
  std::vector<float> floats;
  std::size_t at = 0;
  for (std::int64_t step = work.next++; step < work.first_step.back(); step = work.next++) {
    while (step >= work.first_step[at + 1]) at++;
    const ggml_tensor& tensor = *work.entries[at]->tensor;
    const PackedWeights& packed = work.entries[at]->packed;
    const std::int64_t panel = (step - work.first_step[at]) * kStepPanels;
    const std::int64_t panels = std::min(kStepPanels, packed.shape.panels() - panel);
    floats.resize(static_cast<std::size_t>(packed.shape.depth) * kPanelColumns);
    pack_panels(tensor, panel, panels, packed, panel, floats.data());
    if (progress) progress(static_cast<float>(step + 1) / static_cast<float>(work.first_step.back()));
  }
}

bool gather(Work& work) {
  work.first_step.push_back(0);
  for (Buffer* buffer : buffers) {
    for (Entry& entry : buffer->entries) {
      if (entry.memory) continue;
      const PackedShape shape = shape_of(*entry.tensor);
      entry.memory = allocate(shape.bytes());
      if (!entry.memory) return false;
      entry.packed = PackedWeights::in(shape, entry.memory.get());
      work.entries.push_back(&entry);
      work.first_step.push_back(work.first_step.back() + (shape.panels() + kStepPanels - 1) / kStepPanels);
    }
  }
  return true;
}

}  // namespace

bool can_pack(const ggml_tensor& weights) {
  switch (weights.type) {
    case GGML_TYPE_Q4_0:
    case GGML_TYPE_Q4_1:
    case GGML_TYPE_Q5_0:
    case GGML_TYPE_Q5_1:
    case GGML_TYPE_Q8_0:
    case GGML_TYPE_Q2_K:
    case GGML_TYPE_Q3_K:
    case GGML_TYPE_Q4_K:
    case GGML_TYPE_Q5_K:
    case GGML_TYPE_Q6_K:
    case GGML_TYPE_IQ4_NL:
    case GGML_TYPE_IQ4_XS:
    case GGML_TYPE_MXFP4:
      break;
    default:
      return false;
  }
  return weights.op == GGML_OP_NONE && weights.ne[0] % kDepthStep == 0 && weights.ne[0] > 0 &&
         weights.ne[1] >= kPanelColumns && weights.ne[2] == 1 && weights.ne[3] == 1 && ggml_is_contiguous(&weights);
}

// Types with a scale for 32 weights: ggml rounds activations by 32 for them too, and their levels come out exactly,
// since a multiple of each lies within int8. The others have finer scales inside of 256 weights, and activations
// rounded by 256.
PackedShape shape_of(const ggml_tensor& weights) {
  PackedShape shape{.columns = weights.ne[1], .depth = static_cast<std::int32_t>(weights.ne[0])};
  std::int32_t group_max = 32;
  switch (weights.type) {
    case GGML_TYPE_Q4_0:   // -8 to 7
    case GGML_TYPE_MXFP4:  // multiples of a twelfth of the largest, or of a fraction of that
      shape.levels = 120;
      break;
    case GGML_TYPE_Q5_0:  // -16 to 15
      shape.levels = 112;
      break;
    case GGML_TYPE_Q4_1:  // 0 to 15, and an offset
      shape.levels = 240;
      shape.mins = true;
      break;
    case GGML_TYPE_Q5_1:  // 0 to 31, and an offset
      shape.levels = 248;
      shape.mins = true;
      break;
    case GGML_TYPE_Q8_0:
    case GGML_TYPE_IQ4_NL:
      break;
    default:
      group_max = kGroupMax;
  }
  shape.group = group_for(weights.ne[0], group_max);
  return shape;
}

void pack_panels(const ggml_tensor& weights, std::int64_t panel, std::int64_t panels, const PackedWeights& into,
                 std::int64_t into_panel, float* floats) {
  const ggml_to_float_t to_floats = ggml_get_type_traits(weights.type)->to_float;
  const std::int64_t depth = weights.ne[0];
  for (std::int64_t p = 0; p < panels; p++) {
    const std::int64_t column = (panel + p) * kPanelColumns;
    const auto columns = static_cast<std::int32_t>(std::min<std::int64_t>(kPanelColumns, weights.ne[1] - column));
    for (std::int32_t i = 0; i < columns; i++) {
      const auto* const row =
          static_cast<const std::byte*>(weights.data) + static_cast<std::size_t>(column + i) * weights.nb[1];
      to_floats(row, floats + i * depth, depth);
    }
    pack_panel(floats, columns, into, into_panel + p);
  }
}

bool is_ours(const ggml_tensor& weights) {
  return weights.buffer != nullptr && weights.buffer->iface.free_buffer == free_buffer && weights.extra != nullptr;
}

const PackedWeights* packed_copy(const ggml_tensor& weights) {
  if (!is_ours(weights)) return nullptr;
  const auto* const entry = static_cast<const Entry*>(weights.extra);
  return entry->memory ? &entry->packed : nullptr;
}

ggml_backend_buffer_type* weights_buffer_type(ggml_backend_device* device) {
  static ggml_backend_buffer_type type = {.iface = {.get_name = type_name,
                                                    .alloc_buffer = alloc_buffer,
                                                    .alloc_buffer_n = nullptr,
                                                    .get_alignment = get_alignment,
                                                    .get_max_size = nullptr,
                                                    .get_alloc_size = nullptr,
                                                    .get_alloc_size_n = nullptr,
                                                    .is_host = is_host},
                                          .device = device,
                                          .context = nullptr};
  return &type;
}

ggml_backend_buffer* weights_in(void* memory, std::size_t bytes) {
  return new_buffer(weights_buffer_type(nullptr), static_cast<std::byte*>(memory), bytes, false);
}

PackTotals packed_totals() { return count(true); }
PackTotals unpacked_totals() { return count(false); }

bool pack_weights(std::int32_t threads, const std::function<void(float)>& progress) {
  const std::lock_guard<std::mutex> lock(buffers_mutex);
  Work work;
  const bool enough = gather(work);
  std::vector<std::thread> others;
  for (std::int32_t i = 1; i < threads; i++) others.emplace_back([&work] { pack_steps(work, {}); });
  pack_steps(work, progress);
  for (std::thread& other : others) other.join();
  return enough;
}

}  // namespace assay::kernels
