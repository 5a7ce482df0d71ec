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
#include <typeinfo>
#include <utility>

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

  static Ubatches split_simple(llama_batch_allocr& batch, std::uint32_t rows_max) {
    batch.split_reset();
    Ubatches ubatches;
    for (llama_ubatch next = batch.split_simple(rows_max); next.n_tokens > 0; next = batch.split_simple(rows_max))
      ubatches.push_back(next);
    return batch.get_n_used() < batch.get_n_tokens() ? Ubatches{} : ubatches;
  }
  static Ubatches split_equal(llama_batch_allocr& batch, std::uint32_t rows_max) {
    batch.split_reset();
    Ubatches ubatches;
    for (llama_ubatch next = batch.split_equal(rows_max, false, 0); next.n_tokens > 0;
         next = batch.split_equal(rows_max, false, 0))
      ubatches.push_back(next);
    return batch.get_n_used() < batch.get_n_tokens() ? Ubatches{} : ubatches;
  }

  void read_cells(llama_kv_cache& cache, llama_io_read_i& io, llama_seq_id id, llama_state_seq_flags flags) const {
    const Slots slots = {one_stream(placement_.restore_cells)};
    cache.state_read_sinfo(io, id, flags, nullptr, &slots);
  }

  const llama_memory_ptr inner_;
  const Placement& placement_;
};

class PlacedCache final : public PlacedMemory {
 public:
  PlacedCache(llama_memory_ptr inner, llama_kv_cache& cache, const Placement& placement)
      : PlacedMemory(std::move(inner), placement), cache_(cache) {}

  llama_memory_context_ptr init_batch(llama_batch_allocr& batch, std::uint32_t rows_max, bool /*all*/) override {
    Ubatches ubatches = split_simple(batch, rows_max);
    Slots slots = planned(ubatches);
    if (slots.empty()) return std::make_unique<llama_kv_cache_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    return std::make_unique<llama_kv_cache_context>(&cache_, std::move(slots), std::move(ubatches));
  }
  void state_read(llama_io_read_i& io, llama_seq_id id, llama_state_seq_flags flags) override {
    read_cells(cache_, io, id, flags);
  }

 private:
  llama_kv_cache& cache_;
};

class PlacedSwaCache final : public PlacedMemory {
 public:
  PlacedSwaCache(llama_memory_ptr inner, llama_kv_cache_iswa& cache, const Placement& placement)
      : PlacedMemory(std::move(inner), placement), cache_(cache) {}

  llama_memory_context_ptr init_batch(llama_batch_allocr& batch, std::uint32_t rows_max, bool /*all*/) override {
    Ubatches ubatches = split_simple(batch, rows_max);
    Slots slots = planned(ubatches);
    if (slots.empty()) return std::make_unique<llama_kv_cache_iswa_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    Slots same = slots;
    return std::make_unique<llama_kv_cache_iswa_context>(&cache_, std::move(slots), std::move(same),
                                                         std::move(ubatches));
  }
  void state_read(llama_io_read_i& io, llama_seq_id id, llama_state_seq_flags flags) override {
    read_cells(*cache_.get_base(), io, id, flags);
    read_cells(*cache_.get_swa(), io, id, flags);
  }

 private:
  llama_kv_cache_iswa& cache_;
};

class PlacedHybrid final : public PlacedMemory {
 public:
  PlacedHybrid(llama_memory_ptr inner, llama_memory_hybrid& hybrid, const Placement& placement)
      : PlacedMemory(std::move(inner), placement), hybrid_(hybrid) {}

  llama_memory_context_ptr init_batch(llama_batch_allocr& batch, std::uint32_t rows_max, bool /*all*/) override {
    Ubatches ubatches = split_equal(batch, rows_max);
    Slots slots = planned(ubatches);
    if (slots.empty() || !hybrid_.get_mem_recr()->prepare(ubatches))
      return std::make_unique<llama_memory_hybrid_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    return std::make_unique<llama_memory_hybrid_context>(&hybrid_, std::move(slots), std::move(ubatches));
  }
  void state_read(llama_io_read_i& io, llama_seq_id id, llama_state_seq_flags flags) override {
    read_cells(*hybrid_.get_mem_attn(), io, id, flags);
    hybrid_.get_mem_recr()->state_read(io, id, flags);
  }

 private:
  llama_memory_hybrid& hybrid_;
};

class PlacedSwaHybrid final : public PlacedMemory {
 public:
  PlacedSwaHybrid(llama_memory_ptr inner, llama_memory_hybrid_iswa& hybrid, const Placement& placement)
      : PlacedMemory(std::move(inner), placement), hybrid_(hybrid) {}

  llama_memory_context_ptr init_batch(llama_batch_allocr& batch, std::uint32_t rows_max, bool /*all*/) override {
    Ubatches ubatches = split_equal(batch, rows_max);
    Slots slots = planned(ubatches);
    if (slots.empty() || !hybrid_.get_mem_recr()->prepare(ubatches))
      return std::make_unique<llama_memory_hybrid_iswa_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    Slots same = slots;
    return std::make_unique<llama_memory_hybrid_iswa_context>(&hybrid_, std::move(slots), std::move(same),
                                                              std::move(ubatches));
  }
  void state_read(llama_io_read_i& io, llama_seq_id id, llama_state_seq_flags flags) override {
    read_cells(*hybrid_.get_mem_attn()->get_base(), io, id, flags);
    read_cells(*hybrid_.get_mem_attn()->get_swa(), io, id, flags);
    hybrid_.get_mem_recr()->state_read(io, id, flags);
  }

 private:
  llama_memory_hybrid_iswa& hybrid_;
};

}  // namespace

bool place_rows(llama_context* context, const Placement& placement) {
  llama_memory_ptr& memory = context->*memory_member();
  // The very class, none that derives from it: those have contexts of their own.
  llama_memory_i& kind = *memory;
  if (typeid(kind) == typeid(llama_kv_cache)) {
    auto& cache = static_cast<llama_kv_cache&>(kind);
    if (cache.get_n_stream() != 1) return false;
    memory = std::make_unique<PlacedCache>(std::move(memory), cache, placement);
  } else if (typeid(kind) == typeid(llama_kv_cache_iswa)) {
    auto& cache = static_cast<llama_kv_cache_iswa&>(kind);
    memory = std::make_unique<PlacedSwaCache>(std::move(memory), cache, placement);
  } else if (typeid(kind) == typeid(llama_memory_hybrid)) {
    auto& hybrid = static_cast<llama_memory_hybrid&>(kind);
    memory = std::make_unique<PlacedHybrid>(std::move(memory), hybrid, placement);
  } else if (typeid(kind) == typeid(llama_memory_hybrid_iswa)) {
    auto& hybrid = static_cast<llama_memory_hybrid_iswa&>(kind);
    memory = std::make_unique<PlacedSwaHybrid>(std::move(memory), hybrid, placement);
  } else {
    return false;
  }
  return true;
}

}  // namespace assay::engine
