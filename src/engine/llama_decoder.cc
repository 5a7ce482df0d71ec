#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/assert.h"
#include "engine/llama_computed.h"
#include "engine/llama_context.h"
#include "engine/llama_model.h"
#include "engine/llama_runtime.h"

// The decision context. Invariants: one llama_decode for each decode(), so logits are addressed by batch row; hidden
// states are copied out of the graph by its evaluation callback, which is asked about every tensor and takes
// "result_norm", the final norm's output.

namespace assay::engine {
namespace {

constexpr std::int32_t kOutputRows = 64;  // bounds the logits buffer: 64 rows of a 250k vocabulary are 64 MB

struct FreeContext {
  void operator()(llama_context* context) const { llama_free(context); }
};

class LlamaDecoder final : public Decoder {
 public:
  explicit LlamaDecoder(const LlamaModel& model) : model_(model) {}

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
               .sequences_max = options.sequences_max,
               .cells_max = options.context_tokens,
               .vocabulary_tokens = llama_vocab_n_tokens(model_.vocabulary()),
               .hidden_size = llama_model_n_embd(model_.handle()),
               .whole_sequences_only = model_.recurrent()};
    return {};
  }

  DecoderLimits limits() const override { return limits_; }

  Status decode(std::span<const BatchRow> rows, bool hidden_states) override {
    ASSAY_ASSERT(!rows.empty() && std::ssize(rows) <= limits_.batch_rows_max);
    note_computed();
    fill(rows);
    want_hidden_ = hidden_states;
    hidden_.clear();
    const std::int32_t outcome = llama_decode(context_.get(), batch_);
    want_hidden_ = false;
    if (outcome == 0) return {};
    // After an abort or a failure llama.cpp rolls back only a part: drop every sequence of this batch.
    std::set<SequenceId> touched;
    for (const BatchRow& row : rows) touched.insert(row.sequences.begin(), row.sequences.end());
    for (const SequenceId sequence : touched) release(sequence);
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
    std::size_t index = row;
    if (held != flags_.size())
      index =
          static_cast<std::size_t>(std::count(flags_.begin(), flags_.begin() + static_cast<std::ptrdiff_t>(row), 1));
    ASSAY_ASSERT(index < held);
    return std::span<const float>(hidden_).subspan(index * size, size);
  }

  void fork(SequenceId from, SequenceId to) override {
    llama_memory_seq_cp(llama_get_memory(context_.get()), from, to, -1, -1);
  }
  void release(SequenceId sequence) override {
    llama_memory_seq_rm(llama_get_memory(context_.get()), sequence, -1, -1);
  }

 private:
  // Lays the rows out as llama.cpp wants them: parallel arrays.
  void fill(std::span<const BatchRow> rows) {
    tokens_.clear();
    positions_.clear();
    counts_.clear();
    sequences_.clear();
    flags_.clear();
    for (const BatchRow& row : rows) {
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
    const bool wanted = self.want_hidden_ && std::strcmp(tensor->name, "result_norm") == 0;
    if (ask) return wanted;
    if (!wanted || tensor->type != GGML_TYPE_F32) return true;
    const std::size_t before = self.hidden_.size();
    self.hidden_.resize(before + static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, self.hidden_.data() + before, 0, ggml_nbytes(tensor));
    return true;
  }

  const LlamaModel& model_;
  std::unique_ptr<llama_context, FreeContext> context_;
  DecoderLimits limits_;
  llama_batch batch_ = {};
  std::vector<llama_token> tokens_;
  std::vector<llama_pos> positions_;
  std::vector<std::int32_t> counts_;
  std::vector<llama_seq_id*> sequences_;
  std::vector<std::int8_t> flags_;
  std::vector<float> hidden_;
  bool want_hidden_ = false;
};

}  // namespace

llama_context_params context_params(const ModelOptions& options, std::int32_t sequences_max) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(options.context_tokens);
  params.n_batch = static_cast<std::uint32_t>(options.batch_tokens);
  params.n_ubatch = params.n_batch;
  params.n_seq_max = static_cast<std::uint32_t>(sequences_max);
  params.n_outputs_max = static_cast<std::uint32_t>(std::max(kOutputRows, sequences_max));
  params.n_outputs_max_per_seq = 0;
  params.n_threads = options.threads;
  params.n_threads_batch = options.threads;
  params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  params.flash_attn_type = options.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.kv_unified = true;
  params.swa_full = true;
  params.no_perf = true;
  return params;
}

Result<std::unique_ptr<Decoder>> LlamaModel::make_decoder() const {
  auto decoder = std::make_unique<LlamaDecoder>(*this);
  if (Status status = decoder->open(); !status.ok()) return status.error();
  return std::unique_ptr<Decoder>(std::move(decoder));
}

}  // namespace assay::engine
