#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/assert.h"
#include "engine/llama_computed.h"
#include "engine/llama_context.h"
#include "engine/llama_model.h"
#include "engine/llama_option_head.h"
#include "engine/llama_placement.h"
#include "engine/llama_runtime.h"

// The decision context. Invariants: one llama_decode for each decode(), so logits are addressed by batch row; the last
// sequence id is ours, for moving rows in and out; hidden
// states are copied out of the graph by its evaluation callback, which is asked about every tensor and takes
// "result_norm", the final norm's output.

namespace assay::engine {
namespace {

constexpr std::int32_t kSpareCells = 1024;
constexpr std::int32_t kOutputGroup = 32;  // the largest BitRules::outputs_multiple
constexpr std::int32_t kOutputRows = 64;   // bounds the logits buffer: 64 rows of a 250k vocabulary are 64 MB

struct FreeContext {
  void operator()(llama_context* context) const { llama_free(context); }
};

class LlamaDecoder final : public Decoder {
 public:
  LlamaDecoder(const LlamaModel& model, const BitRules& rules, bool option_head)
      : model_(model), use_option_head_(option_head) {
    limits_.rules = rules;
  }

  Status open() {
    const ModelOptions& options = model_.options();
    llama_context_params params = context_params(options, options.sequences_max);
    params.cb_eval = on_eval;
    params.cb_eval_user_data = this;
    context_.reset(llama_init_from_model(model_.handle(), params));
    if (!context_) {
      return Error{ErrorCode::kOutOfMemory, "No decision context can be made: " + take_llama_error(), "model"};
    }
    limits_ = {.batch_rows_max = static_cast<std::int32_t>(llama_n_batch(context_.get())),
               .output_rows_max = static_cast<std::int32_t>(params.n_outputs_max),
               .sequences_max = options.sequences_max - 1,
               .cells = static_cast<std::int32_t>(llama_n_ctx(context_.get())),
               .path_rows_max = options.context_tokens,
               .vocabulary_tokens = llama_vocab_n_tokens(model_.vocabulary()),
               .hidden_size = llama_model_n_embd(model_.handle()),
               .whole_sequences_only = model_.recurrent(),
               .rules = limits_.rules};
    if (use_option_head_) option_head_ = OptionHead::open(options.path, limits_.hidden_size, limits_.vocabulary_tokens);
    limits_.option_head = option_head_ != nullptr;
    own_sequence_ = limits_.sequences_max;
    limits_.places_rows = place_rows(context_.get(), placement_);
    return {};
  }

  DecoderLimits limits() const override { return limits_; }

  Status decode(std::span<const BatchRow> rows, const DecodeWants& wants) override {
    ASSAY_ASSERT(!rows.empty() && std::ssize(rows) <= limits_.batch_rows_max);
    note_computed();
    fill(rows);
    // Without hidden states to stop at, the head is computed whatever is wanted.
    wants_ = wants;
    hidden_.clear();
    const std::int32_t outcome = llama_decode(context_.get(), batch_);
    wants_ = {};
    if (outcome == 0) return {};
    return Error{ErrorCode::kInternal,
                 "The model's decode failed with code " + std::to_string(outcome) + ": " + take_llama_error(), ""};
  }

  std::span<const float> logits(std::size_t row) override {
    const float* logits = llama_get_logits_ith(context_.get(), static_cast<std::int32_t>(row));
    ASSAY_ASSERT(logits != nullptr);
    return {logits, static_cast<std::size_t>(limits_.vocabulary_tokens)};
  }

  std::span<const float> hidden_state(std::size_t row) override {
    // The graph keeps either every row of the batch or only those with output, in order.
    const auto size = static_cast<std::size_t>(limits_.hidden_size);
    const std::size_t held = hidden_.size() / size;
    if (held == 0) return {};
    std::size_t index = row;
    if (held != flags_.size())
      index =
          static_cast<std::size_t>(std::count(flags_.begin(), flags_.begin() + static_cast<std::ptrdiff_t>(row), 1));
    ASSAY_ASSERT(index < held);
    return std::span<const float>(hidden_).subspan(index * size, size);
  }

  float option_logit(std::size_t row, TokenId token) override {
    ASSAY_ASSERT(limits_.option_head);
    return option_head_->logit(hidden_state(row), token);
  }

  void fork(SequenceId from, SequenceId to) override { llama_memory_seq_cp(memory(), from, to, -1, -1); }
  void release(SequenceId sequence) override { llama_memory_seq_rm(memory(), sequence, -1, -1); }
  void reset() override { llama_memory_clear(memory(), true); }

  std::string save(SequenceId sequence, std::int32_t from_position) override {
    SequenceId source = sequence;
    if (!limits_.whole_sequences_only) {
      llama_memory_seq_cp(memory(), sequence, own_sequence_, from_position, -1);
      source = own_sequence_;
    }
    std::string bytes(llama_state_seq_get_size(context_.get(), source), '\0');
    const std::size_t written =
        llama_state_seq_get_data(context_.get(), reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size(), source);
    if (source == own_sequence_) release(own_sequence_);
    bytes.resize(written);
    return bytes;
  }

  bool restore(SequenceId sequence, std::span<const Cell> cells, const std::string& saved) override {
    const SequenceId target = limits_.whole_sequences_only ? sequence : own_sequence_;
    placement_.restore_cells.assign(cells.begin(), cells.end());
    const std::size_t read = llama_state_seq_set_data(
        context_.get(), reinterpret_cast<const std::uint8_t*>(saved.data()), saved.size(), target);
    if (read != saved.size()) {
      release(target);
      release(sequence);
      return false;
    }
    if (target == sequence) return true;
    llama_memory_seq_cp(memory(), own_sequence_, sequence, -1, -1);
    release(own_sequence_);
    return true;
  }

 private:
  llama_memory_t memory() const { return llama_get_memory(context_.get()); }

  // Lays the rows out as llama.cpp wants them: parallel arrays.
  void fill(std::span<const BatchRow> rows) {
    tokens_.clear();
    positions_.clear();
    counts_.clear();
    sequences_.clear();
    flags_.clear();
    placement_.clear();
    for (const BatchRow& row : rows) {
      placement_.add(*std::min_element(row.sequences.begin(), row.sequences.end()), row.position, row.cell);
      tokens_.push_back(row.token);
      positions_.push_back(row.position);
      counts_.push_back(static_cast<std::int32_t>(row.sequences.size()));
      sequences_.push_back(const_cast<llama_seq_id*>(row.sequences.data()));
      flags_.push_back(row.output ? 1 : 0);
    }
    batch_ = {};
    batch_.n_tokens = static_cast<std::int32_t>(rows.size());
    batch_.token = tokens_.data();
    batch_.pos = positions_.data();
    batch_.n_seq_id = counts_.data();
    batch_.seq_id = sequences_.data();
    batch_.logits = flags_.data();
  }

  static bool on_eval(ggml_tensor* tensor, bool ask, void* user_data) {
    auto& self = *static_cast<LlamaDecoder*>(user_data);
    const bool wanted = self.wants_.hidden_states && std::strcmp(tensor->name, "result_norm") == 0;
    if (ask) return wanted;
    if (!wanted || tensor->type != GGML_TYPE_F32) return true;
    const std::size_t before = self.hidden_.size();
    self.hidden_.resize(before + static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, self.hidden_.data() + before, 0, ggml_nbytes(tensor));
    // What follows is the head: false ends the computation here.
    return self.wants_.logits;
  }

  const LlamaModel& model_;
  const bool use_option_head_;
  std::unique_ptr<OptionHead> option_head_;
  Placement placement_;
  std::unique_ptr<llama_context, FreeContext> context_;
  SequenceId own_sequence_ = 0;
  DecoderLimits limits_;
  llama_batch batch_ = {};
  std::vector<llama_token> tokens_;
  std::vector<llama_pos> positions_;
  std::vector<std::int32_t> counts_;
  std::vector<llama_seq_id*> sequences_;
  std::vector<std::int8_t> flags_;
  std::vector<float> hidden_;
  DecodeWants wants_;
};

}  // namespace

std::int32_t context_cells(const ModelOptions& options) {
  // The longest request, what is kept for later ones, and what alignment costs.
  return options.context_tokens + options.cache_tokens + kSpareCells;
}

llama_context_params context_params(const ModelOptions& options, std::int32_t sequences_max) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(context_cells(options));
  params.n_batch = static_cast<std::uint32_t>(options.batch_tokens);
  params.n_ubatch = params.n_batch;
  params.n_seq_max = static_cast<std::uint32_t>(sequences_max);
  // llama.cpp wants as many outputs as sequences; the logits of so many rows are allocated.
  const std::int32_t groups = (std::max(kOutputRows, sequences_max) + kOutputGroup - 1) / kOutputGroup;
  params.n_outputs_max = static_cast<std::uint32_t>(groups * kOutputGroup);
  params.n_outputs_max_per_seq = 0;
  params.n_threads = options.threads;
  params.n_threads_batch = options.threads;
  params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  params.flash_attn_type = options.flash_attention ? LLAMA_FLASH_ATTN_TYPE_AUTO : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.kv_unified = true;
  params.swa_full = true;
  params.no_perf = true;
  return params;
}

Result<std::unique_ptr<Decoder>> LlamaModel::make_decoder(const BitRules& rules, bool option_head) const {
  auto decoder = std::make_unique<LlamaDecoder>(*this, rules, option_head);
  if (Status status = decoder->open(); !status.ok()) return status.error();
  return std::unique_ptr<Decoder>(std::move(decoder));
}

}  // namespace assay::engine
