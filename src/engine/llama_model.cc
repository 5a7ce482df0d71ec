#include "engine/llama_model.h"

#include <fit.h>
#include <llama.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "base/log.h"
#include "engine/llama_context.h"
#include "engine/llama_media.h"
#include "engine/llama_runtime.h"

namespace assay::engine {
namespace {

constexpr std::int64_t kCellsMax = std::int64_t{1} << 30;
constexpr std::int32_t kBatchTokensMin = 64;  // BitRules::rows_min
constexpr std::int32_t kDefaultContextTokens = 8192;
constexpr std::int32_t kRecurrentSequences = 17;  // a recurrent state costs tens of MiB a sequence

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes / (1024 * 1024)) + " MiB"; }

llama_model_params model_params(const ModelOptions& options) {
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = options.gpu_layers;
  params.use_extra_bufts = options.extra_buffers;
  params.load_mode = options.mmap ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
  return params;
}

bool on_progress(float share, void* user_data) {
  const auto& options = *static_cast<const ModelOptions*>(user_data);
  options.progress(share);
  return true;
}

}  // namespace

Result<ModelOptions> settle_options(ModelOptions options, const ModelFacts& facts) {
  if (options.threads < 0 || options.context_tokens < 0 || options.batch_tokens < kBatchTokensMin ||
      options.sequences_max < 8 || options.sequences_max > 256 || options.cache_tokens < 0) {
    return invalid_argument(
        "model", "threads, context_tokens and cache_tokens must be >= 0, batch_tokens >= 64, sequences_max in 8..256.");
  }
  if (std::int64_t{options.context_tokens} + options.cache_tokens > kCellsMax) {
    return invalid_argument(
        "model", "context_tokens and cache_tokens together must be at most " + std::to_string(kCellsMax) + ".");
  }
  if (options.threads == 0) options.threads = usable_cores();
  if (options.context_tokens == 0) {
    const auto trained =
        static_cast<std::int32_t>(std::min<std::uint64_t>(facts.trained_context_tokens, kDefaultContextTokens));
    options.context_tokens = trained > 0 ? trained : kDefaultContextTokens;
  }
  if (facts.recurrent) options.sequences_max = std::min(options.sequences_max, kRecurrentSequences);
  return options;
}

Result<std::uint64_t> estimate_memory_bytes(const ModelOptions& options) {
  start_llama();
  const Result<std::uint64_t> media = media_memory_bytes(options);
  if (!media.ok()) return media.error();
  const llama_model_params model = model_params(options);
  const llama_context_params context = context_params(options, options.sequences_max);
  std::vector<ggml_backend_dev_t> devices;
  std::uint32_t layers = 0;
  std::uint32_t trained = 0;
  std::uint32_t experts = 0;
  try {
    const common_device_memory_data_vec memory = common_get_device_memory_data(
        options.path.c_str(), &model, &context, devices, layers, trained, experts, GGML_LOG_LEVEL_ERROR);
    start_llama();  // the dry run changes llama.cpp's log
    if (memory.empty()) return std::uint64_t{0};
    const common_device_memory_data& host = memory.back();
    const std::uint64_t needed = host.model + host.context + host.compute + *media;
    const std::uint64_t free_bytes = machine_memory().free_bytes;
    const std::string numbers =
        options.path + " needs about " + mebibytes(needed) + " and " + mebibytes(free_bytes) + " are free";
    log_line(LogLevel::kInfo, numbers);
    if (!options.check_memory || needed <= free_bytes) return needed;
    return Error{ErrorCode::kOutOfMemory,
                 numbers + "; take a smaller model or quantisation, or a smaller context_tokens (now " +
                     std::to_string(options.context_tokens) + ").",
                 "model"};
  } catch (const std::exception& exception) {
    start_llama();
    const std::string reason = take_llama_error();
    return Error{ErrorCode::kUnsupportedModel,
                 options.path + " cannot be loaded: " + (reason.empty() ? exception.what() : reason), "model"};
  }
}

// What can only be settled with the weights there.
Status LlamaModel::finish_load(std::uint64_t memory_needed_bytes) {
  if (recurrent()) options_.sequences_max = std::min(options_.sequences_max, kRecurrentSequences);
  memory_needed_bytes_ = memory_needed_bytes;
  Result<PackingReport> packing = finish_packing(options_, memory_needed_bytes);
  if (!packing.ok()) return packing.error();
  packing_ = std::move(packing).value();
  options_.packing = packing_.mode;
  return {};
}

Result<std::unique_ptr<LlamaModel>> LlamaModel::load(const ModelOptions& options) {
  Result<ModelFacts> facts = inspect_gguf(options.path);
  if (!facts.ok()) return facts.error();
  if (facts->tokenizer_only)
    return Error{ErrorCode::kUnsupportedModel, options.path + " has a vocabulary but no weights.", "model"};
  Result<ModelOptions> settled = settle_options(options, *facts);
  if (!settled.ok()) return settled.error();
  const Result<std::uint64_t> needed = estimate_memory_bytes(*settled);
  if (!needed.ok()) return needed.error();
  prepare_packing(*settled,
                  {.model_bytes = *needed, .packed_bytes = facts->packed_bytes, .experts = facts->packs_experts});
  llama_model_params params = model_params(*settled);
  if (options.progress) {
    params.progress_callback = on_progress;
    params.progress_callback_user_data = const_cast<ModelOptions*>(&options);
  }
  llama_model* model = llama_model_load_from_file(options.path.c_str(), params);
  if (model == nullptr) {
    return Error{ErrorCode::kUnsupportedModel, options.path + " cannot be loaded: " + take_llama_error(), "model"};
  }
  std::unique_ptr<LlamaModel> loaded(new LlamaModel(model, std::move(facts).value(), std::move(settled).value()));
  if (Status done = loaded->finish_load(*needed); !done.ok()) return done.error();
  return loaded;
}

Result<std::unique_ptr<LlamaModel>> LlamaModel::load_vocabulary(const std::string& path) {
  Result<ModelFacts> facts = inspect_gguf(path);
  if (!facts.ok()) return facts.error();
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  llama_model* model = llama_model_load_from_file(path.c_str(), params);
  if (model == nullptr)
    return Error{ErrorCode::kUnsupportedModel, path + " cannot be loaded: " + take_llama_error(), "model"};
  return std::unique_ptr<LlamaModel>(new LlamaModel(model, std::move(facts).value(), ModelOptions{.path = path}));
}

Result<std::unique_ptr<LlamaModel>> LlamaModel::adopt(const ModelOptions& options, llama_model* model,
                                                      std::uint64_t memory_needed_bytes) {
  Result<ModelFacts> facts = inspect_gguf(options.path);
  if (!facts.ok()) return facts.error();
  Result<ModelOptions> settled = settle_options(options, *facts);
  if (!settled.ok()) return settled.error();
  std::unique_ptr<LlamaModel> adopted(new LlamaModel(model, std::move(facts).value(), std::move(settled).value()));
  adopted->owns_weights_ = false;
  if (Status done = adopted->finish_load(memory_needed_bytes); !done.ok()) return done.error();
  return adopted;
}

LlamaModel::~LlamaModel() {
  if (owns_weights_) llama_model_free(model_);
}

const llama_vocab* LlamaModel::vocabulary() const { return llama_model_get_vocab(model_); }

std::string LlamaModel::description() const {
  char text[256] = {};
  llama_model_desc(model_, text, sizeof(text));
  return text;
}

std::uint64_t LlamaModel::weights_bytes() const { return llama_model_size(model_); }
std::uint64_t LlamaModel::parameters() const { return llama_model_n_params(model_); }
std::int32_t LlamaModel::trained_context_tokens() const { return llama_model_n_ctx_train(model_); }
bool LlamaModel::recurrent() const { return llama_model_is_recurrent(model_) || llama_model_is_hybrid(model_); }

}  // namespace assay::engine
