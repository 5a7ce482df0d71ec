#include "engine/llama_placement.h"

#include <llama-context.h>
#include <llama-io.h>
#include <llama-kv-cache-iswa.h>
#include <llama-kv-cache.h>
#include <llama-memory-hybrid-iswa.h>
#include <llama-memory-hybrid.h>
#include <llama-memory-recurrent.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

// Invariants: the wrapped memory stays the one that holds everything; only init_batch() and state_read() are ours. A
// row without a planned cell fails the batch (llama_decode returns 1) and changes nothing.

namespace assay::engine {
namespace {

using Slots = llama_kv_cache::slot_info_vec_t;
using Ubatches = std::vector<llama_ubatch>;

// The private member llama_context::memory, by the one way that the language has: explicit instantiation may name it.
using MemoryMember = llama_memory_ptr llama_context::*;
MemoryMember memory_member();
template <MemoryMember kMember>
struct NameMember {
  friend MemoryMember memory_member() { return kMember; }
};
template struct NameMember<&llama_context::memory>;

llama_kv_cache::slot_info one_stream(std::vector<std::uint32_t> cells) {
  llama_kv_cache::slot_info slot = {0, 0, {}, {}};
  slot.resize(1);
  slot.strm[0] = 0;
  slot.idxs[0] = std::move(cells);
  return slot;
}

// What is common to all kinds: everything but init_batch() and state_read() goes to the wrapped memory.
class PlacedMemory : public llama_memory_i {
 public:
  PlacedMemory(llama_memory_ptr inner, const Placement& placement) : inner_(std::move(inner)), placement_(placement) {}

  llama_memory_context_ptr init_full() override { return inner_->init_full(); }
  llama_memory_context_ptr init_update(llama_context* context, bool optimize) override {
    return inner_->init_update(context, optimize);
  }
  bool get_can_shift() const override { return inner_->get_can_shift(); }
  void clear(bool data) override { inner_->clear(data); }
  bool seq_rm(llama_seq_id id, llama_pos from, llama_pos to) override { return inner_->seq_rm(id, from, to); }
  void seq_cp(llama_seq_id source, llama_seq_id target, llama_pos from, llama_pos to) override {
    inner_->seq_cp(source, target, from, to);
  }
  void seq_keep(llama_seq_id id) override { inner_->seq_keep(id); }
  void seq_add(llama_seq_id id, llama_pos from, llama_pos to, llama_pos shift) override {
    inner_->seq_add(id, from, to, shift);
  }
  void seq_div(llama_seq_id id, llama_pos from, llama_pos to, int divisor) override {
    inner_->seq_div(id, from, to, divisor);
  }
  llama_pos seq_pos_min(llama_seq_id id) const override { return inner_->seq_pos_min(id); }
  llama_pos seq_pos_max(llama_seq_id id) const override { return inner_->seq_pos_max(id); }
  std::map<ggml_backend_buffer_type_t, std::size_t> memory_breakdown() const override {
    return inner_->memory_breakdown();
  }
  void state_write(llama_io_write_i& io, llama_seq_id id, llama_state_seq_flags flags) const override {
    inner_->state_write(io, id, flags);
  }

 protected:
  // Nothing when a row has no planned cell or the batch cannot be split.
  Slots planned(const Ubatches& ubatches) const {
    Slots slots;
    for (const llama_ubatch& ubatch : ubatches) {
      std::vector<std::uint32_t> cells(ubatch.n_tokens);
      for (std::uint32_t i = 0; i < ubatch.n_tokens; i++) {
        const std::int64_t cell =
            placement_.find(*std::min_element(ubatch.seq_id[i], ubatch.seq_id[i] + ubatch.n_seq_id[i]), ubatch.pos[i]);
        if (cell < 0) return {};
        cells[i] = static_cast<std::uint32_t>(cell);
      }
      slots.push_back(one_stream(std::move(cells)));
    }
    return slots;
  }

  // Sequences side by side, as recurrent layers want them, or the rows in their order.
  static Ubatches split(llama_batch_allocr& batch, std::uint32_t rows_max, bool by_sequence) {
    batch.split_reset();
    const auto next = [&] {
      return by_sequence ? batch.split_equal(rows_max, false, 0) : batch.split_simple(rows_max);
    };
    Ubatches ubatches;
    for (llama_ubatch ubatch = next(); ubatch.n_tokens > 0; ubatch = next()) ubatches.push_back(ubatch);
    return batch.get_n_used() < batch.get_n_tokens() ? Ubatches{} : ubatches;
  }

  void read_cells(llama_kv_cache& cache, llama_io_read_i& io, llama_seq_id id, llama_state_seq_flags flags) const {
    const Slots slots = {one_stream(placement_.restore_cells)};
    cache.state_read_sinfo(io, id, flags, nullptr, &slots);
  }

  const llama_memory_ptr inner_;
  const Placement& placement_;
};

// The attention caches of each kind of memory; those of a sliding window get the same cells as the whole one.
std::vector<llama_kv_cache*> caches_of(llama_kv_cache& cache) { return {&cache}; }
std::vector<llama_kv_cache*> caches_of(llama_kv_cache_iswa& caches) { return {caches.get_base(), caches.get_swa()}; }
std::vector<llama_kv_cache*> caches_of(llama_memory_hybrid& hybrid) { return caches_of(*hybrid.get_mem_attn()); }
std::vector<llama_kv_cache*> caches_of(llama_memory_hybrid_iswa& hybrid) { return caches_of(*hybrid.get_mem_attn()); }

// nullptr: it has no recurrent layers.
template <class Memory>
llama_memory_recurrent* recurrent_of(Memory& memory) {
  if constexpr (requires { memory.get_mem_recr(); }) {
    return memory.get_mem_recr();
  } else {
    return nullptr;
  }
}

// `Context` is what the kind's own init_batch() makes.
template <class Memory, class Context>
class Placed final : public PlacedMemory {
 public:
  Placed(llama_memory_ptr inner, Memory& memory, const Placement& placement)
      : PlacedMemory(std::move(inner), placement), memory_(memory) {}

  llama_memory_context_ptr init_batch(llama_batch_allocr& batch, std::uint32_t rows_max, bool /*all*/) override {
    llama_memory_recurrent* recurrent = recurrent_of(memory_);
    Ubatches ubatches = split(batch, rows_max, recurrent != nullptr);
    Slots slots = planned(ubatches);
    if (slots.empty() || (recurrent != nullptr && !recurrent->prepare(ubatches)))
      return std::make_unique<Context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    if constexpr (std::is_constructible_v<Context, Memory*, Slots, Slots, Ubatches>) {
      Slots same = slots;
      return std::make_unique<Context>(&memory_, std::move(slots), std::move(same), std::move(ubatches));
    } else {
      return std::make_unique<Context>(&memory_, std::move(slots), std::move(ubatches));
    }
  }
  void state_read(llama_io_read_i& io, llama_seq_id id, llama_state_seq_flags flags) override {
    for (llama_kv_cache* cache : caches_of(memory_)) read_cells(*cache, io, id, flags);
    if (llama_memory_recurrent* recurrent = recurrent_of(memory_)) recurrent->state_read(io, id, flags);
  }

 private:
  Memory& memory_;
};

// False when the memory is of another class. The very class, none that derives from it: those have contexts of their
// own.
template <class Memory, class Context>
bool place(llama_memory_ptr& memory, const Placement& placement) {
  llama_memory_i& kind = *memory;
  if (typeid(kind) != typeid(Memory)) return false;
  auto& known = static_cast<Memory&>(kind);
  for (const llama_kv_cache* cache : caches_of(known)) {
    if (cache->get_n_stream() != 1) return false;
  }
  memory = std::make_unique<Placed<Memory, Context>>(std::move(memory), known, placement);
  return true;
}

}  // namespace

bool place_rows(llama_context* context, const Placement& placement) {
  llama_memory_ptr& memory = context->*memory_member();
  return place<llama_kv_cache, llama_kv_cache_context>(memory, placement) ||
         place<llama_kv_cache_iswa, llama_kv_cache_iswa_context>(memory, placement) ||
         place<llama_memory_hybrid, llama_memory_hybrid_context>(memory, placement) ||
         place<llama_memory_hybrid_iswa, llama_memory_hybrid_iswa_context>(memory, placement);
}

}  // namespace assay::engine
