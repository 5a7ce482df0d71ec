#include "kernels/ggml_weights.h"

#include <ggml-backend-impl.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/xxh3.h"
#include "kernels/pack_behind.h"

// Each weight tensor that can be packed has an entry in its buffer, and `extra` points at it. Entries are made when
// ggml places a tensor in a buffer that is not one for computing.

namespace assay::kernels {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSampleBytes = 4096;
constexpr std::int64_t kStepPanels = 8;  // that a thread packs at a time

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

struct Entry {
  const ggml_tensor* tensor = nullptr;
  PackedWeights packed;  // in one of the buffer's regions
  bool has_copy = false;
};

struct Buffer {
  std::byte* memory = nullptr;
  bool owns = false;
  std::list<Entry> entries;  // pointers into it stay valid
  // Owned by all buffers whose weights lie in it: a model in several buffers is packed as one.
  std::vector<std::shared_ptr<const PackedRegion>> regions;
  std::vector<std::shared_ptr<PackBehind>>
      behind;  // what reads the plain weights, of this buffer and others of its model
};

std::mutex buffers_mutex;             // guards buffers, and all entries while weights are packed or counted
std::atomic<bool> any_behind{false};  // false: nobody has to wait for packing
std::set<Buffer*> buffers;            // NOLINT(cert-err58-cpp): ggml's registry is one for the process

// What one pack_weights() packed in memory, as long as a model has it.
struct LastPacked {
  std::string identity;
  std::weak_ptr<const PackedRegion> region;
};
LastPacked last_packed;  // guarded by buffers_mutex

// The same, held by whoever asked for it.
struct Kept {
  std::string identity;
  std::shared_ptr<const PackedRegion> region;  // null: other weights came
};
std::weak_ptr<Kept> kept;  // it and what it points at are guarded by buffers_mutex

Buffer& buffer_of(ggml_backend_buffer_t buffer) { return *static_cast<Buffer*>(buffer->context); }

Memory allocate(std::size_t bytes) {
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return Memory(static_cast<std::byte*>(std::aligned_alloc(kAlignment, std::max(whole, kAlignment))));
}

void free_buffer(ggml_backend_buffer_t buffer) {
  Buffer* const ours = &buffer_of(buffer);
  {
    const std::lock_guard<std::mutex> lock(buffers_mutex);
    buffers.erase(ours);
    for (const std::shared_ptr<PackBehind>& behind : ours->behind) behind->stop();
  }
  if (ours->owns) std::free(ours->memory);
  delete ours;
}

void* get_base(ggml_backend_buffer_t buffer) { return buffer_of(buffer).memory; }

ggml_status init_tensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor) {
  if (buffer->usage == GGML_BACKEND_BUFFER_USAGE_COMPUTE || tensor->view_src != nullptr || !can_pack(*tensor))
    return GGML_STATUS_SUCCESS;
  const std::lock_guard<std::mutex> lock(buffers_mutex);
  buffer_of(buffer).entries.push_back({.tensor = tensor, .packed = {}, .has_copy = false});
  tensor->extra = &buffer_of(buffer).entries.back();
  return GGML_STATUS_SUCCESS;
}

// The plain weights change: a copy of the old ones must not be used.
void forget_copy(const ggml_tensor& tensor) {
  finish_packing_behind();
  if (tensor.extra != nullptr) static_cast<Entry*>(tensor.extra)->has_copy = false;
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
  auto* const ours =
      new (std::nothrow) Buffer{.memory = memory, .owns = owns, .entries = {}, .regions = {}, .behind = {}};
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
      if (entry.has_copy != with_copy) continue;
      totals.tensors++;
      if (entry.tensor->ne[2] > 1) totals.expert_tensors++;
      totals.plain_bytes += ggml_nbytes(entry.tensor);
      totals.packed_bytes += stacked_shape(*entry.tensor).bytes();
    }
  }
  return totals;
}

// What is to be packed, one after another in a region. Threads take steps of a few panels.
struct Work {
  std::vector<Buffer*> buffers;  // of the entries, each once
  std::vector<Entry*> entries;
  std::vector<std::size_t> offsets;      // of each entry in the region
  std::vector<std::int64_t> first_step;  // of each entry; one more at the end
  std::size_t bytes = 0;
};

// A step of a work whose entries have their places. Keeps of the work what it needs.
std::function<void(std::int64_t)> step_of(const Work& work) {
  std::vector<std::pair<const ggml_tensor*, PackedWeights>> copies;
  for (const Entry* entry : work.entries) copies.emplace_back(entry->tensor, entry->packed);
  return [copies = std::move(copies), first_step = work.first_step](std::int64_t step) {
    thread_local std::vector<float> floats;
    const auto at = std::upper_bound(first_step.begin(), first_step.end(), step) - first_step.begin() - 1;
    const auto& [tensor, packed] = copies[static_cast<std::size_t>(at)];
    const std::int64_t panel = (step - first_step[static_cast<std::size_t>(at)]) * kStepPanels;
    floats.resize(slice_floats(*tensor));
    pack_panels(*tensor, panel, std::min(kStepPanels, packed.shape.panels() - panel), packed, panel, floats.data());
  };
}

void gather(Work& work) {
  work.first_step.push_back(0);
  for (Buffer* buffer : buffers) {
    bool any = false;
    for (Entry& entry : buffer->entries) {
      if (entry.has_copy) continue;
      any = true;
      const PackedShape shape = stacked_shape(*entry.tensor);
      work.entries.push_back(&entry);
      work.offsets.push_back(work.bytes);
      work.first_step.push_back(work.first_step.back() + (shape.panels() + kStepPanels - 1) / kStepPanels);
      work.bytes += (shape.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (any) work.buffers.push_back(buffer);
  }
}

// Packed bytes follow from the file and the build that unpacks it. Shards of a split file are known by their samples.
std::string identity_of(const PackCachePlace& place, const Work& work) {
  std::string identity = "packed weights " + std::to_string(kPackVersion) + "\n" + place.model + "\n";
  for (const Entry* entry : work.entries) {
    const ggml_tensor& tensor = *entry->tensor;
    const PackedShape shape = shape_of(tensor);
    const std::span plain(static_cast<const std::byte*>(tensor.data), ggml_nbytes(&tensor));
    const std::size_t sampled = std::min(kSampleBytes, plain.size());
    identity += std::string(tensor.name) + " " + ggml_type_name(tensor.type) + " " + std::to_string(shape.columns) +
                " " + std::to_string(shape.depth) + " " + std::to_string(shape.group) + " " +
                std::to_string(shape.levels) + (shape.mins ? " mins " : " ") +
                (tensor.ne[2] > 1 ? std::to_string(tensor.ne[2]) + " experts " : "") +
                std::to_string(xxh3(plain.subspan((plain.size() - sampled) / 2, sampled))) + "\n";
  }
  return identity;
}

// From now on the entries' copies are what lies in the region, or will once it is packed.
void place_in(const Work& work, std::byte* region) {
  for (std::size_t i = 0; i < work.entries.size(); i++)
    work.entries[i]->packed = PackedWeights::in(stacked_shape(*work.entries[i]->tensor), region + work.offsets[i]);
}

void keep(const Work& work, const std::shared_ptr<const PackedRegion>& region) {
  place_in(work, region->data());
  for (Entry* entry : work.entries) entry->has_copy = true;
  for (Buffer* buffer : work.buffers) buffer->regions.push_back(region);
}

// True: what somebody keeps is of the same weights, and is theirs now. Else its memory is wanted for these.
bool take_kept(const Work& work, const std::string& identity) {
  const std::shared_ptr<Kept> held = kept.lock();
  if (!held || !held->region) return false;
  const std::shared_ptr<const PackedRegion> region = std::exchange(held->region, nullptr);
  if (held->identity != identity || region->bytes().size() != work.bytes) return false;
  keep(work, region);
  return true;
}

std::unique_ptr<PackedRegion> pack(const Work& work, std::int32_t threads, const std::function<void(float)>& progress) {
  std::unique_ptr<PackedRegion> region = PackedRegion::allocate(work.bytes);
  if (!region) return nullptr;
  place_in(work, region->data());
  PackBehind(work.first_step.back(), step_of(work), threads - 1, progress).finish();
  return region;
}

// One thread is left to whatever else a start does.
bool pack_behind(const Work& work, std::int32_t threads, const std::function<void(float)>& progress,
                 const std::string& identity) {
  const std::shared_ptr<const PackedRegion> region = PackedRegion::allocate(work.bytes);
  if (!region) return false;
  keep(work, region);
  const auto behind =
      std::make_shared<PackBehind>(work.first_step.back(), step_of(work), std::max(1, threads - 1), progress);
  for (Buffer* buffer : work.buffers) buffer->behind.push_back(behind);
  last_packed = {.identity = identity, .region = region};
  any_behind = true;
  return true;
}

// Puts what was packed into a file and gives that file's pages back, or what it was given where that fails. Another
// process may have written the file meanwhile; then it is taken.
std::unique_ptr<PackedRegion> through_file(std::unique_ptr<PackedRegion> packed, const PackCacheFile& file,
                                           std::int32_t threads, PackOutcome& outcome) {
  const std::size_t bytes = packed->bytes().size();
  if (outcome.read_fault.empty()) {
    if (PackCacheRead read = read_pack_cache(file, bytes, threads); read.region) {
      outcome.cache = PackCacheUse::kRead;
      return std::move(read.region);
    }
  }
  outcome.write_fault = write_pack_cache(file, packed->bytes(), threads);
  if (!outcome.write_fault.empty()) return packed;
  outcome.cache = PackCacheUse::kWritten;
  PackCacheRead read = read_pack_cache(file, bytes, threads);
  return read.region ? std::move(read.region) : std::move(packed);
}

}  // namespace

bool is_ours(const ggml_tensor& weights) {
  return weights.buffer != nullptr && weights.buffer->iface.free_buffer == free_buffer && weights.extra != nullptr;
}

const PackedWeights* packed_copy(const ggml_tensor& weights) {
  if (!is_ours(weights)) return nullptr;
  const auto* const entry = static_cast<const Entry*>(weights.extra);
  return entry->has_copy ? &entry->packed : nullptr;
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

PackOutcome pack_weights(std::int32_t threads, const std::function<void(float)>& progress, const PackCachePlace& place,
                         PackWhen when) {
  const std::lock_guard<std::mutex> lock(buffers_mutex);
  PackOutcome outcome;
  Work work;
  gather(work);
  if (work.entries.empty()) return outcome;
  const bool has_cache = !place.dir.empty();
  const PackCacheFile file = {.dir = place.dir, .identity = identity_of(place, work)};
  if (!has_cache && take_kept(work, file.identity)) {
    outcome.cache = PackCacheUse::kKept;
    return outcome;
  }
  if (has_cache) {
    outcome.cache_path = file.path();
    PackCacheRead read = read_pack_cache(file, work.bytes, threads);
    outcome.read_fault = std::move(read.fault);
    if (read.region) {
      outcome.cache = PackCacheUse::kRead;
      keep(work, std::move(read.region));
      return outcome;
    }
  }
  if (!has_cache && when == PackWhen::kBehind) {
    outcome.behind = outcome.complete = pack_behind(work, threads, progress, file.identity);
    return outcome;
  }
  std::unique_ptr<PackedRegion> region = pack(work, threads, progress);
  outcome.complete = region != nullptr;
  if (!region) return outcome;
  if (has_cache) region = through_file(std::move(region), file, threads, outcome);
  const std::shared_ptr<const PackedRegion> shared = std::move(region);
  if (!has_cache) last_packed = {.identity = file.identity, .region = shared};
  keep(work, shared);
  return outcome;
}

void finish_packing_behind() {
  if (!any_behind) return;
  const std::lock_guard<std::mutex> lock(buffers_mutex);
  for (Buffer* buffer : buffers) {
    for (const std::shared_ptr<PackBehind>& behind : buffer->behind) behind->finish();
    buffer->behind.clear();
  }
  any_behind = false;
}

std::shared_ptr<const void> keep_packed() {
  finish_packing_behind();
  const std::lock_guard<std::mutex> lock(buffers_mutex);
  std::shared_ptr<const PackedRegion> region = last_packed.region.lock();
  if (!region) return nullptr;
  auto held = std::make_shared<Kept>(Kept{.identity = last_packed.identity, .region = std::move(region)});
  kept = held;
  return held;
}

std::uint64_t kept_bytes() {
  const std::lock_guard<std::mutex> lock(buffers_mutex);
  const std::shared_ptr<Kept> held = kept.lock();
  return held && held->region.use_count() == 1 ? held->region->bytes().size() : 0;
}

}  // namespace assay::kernels
