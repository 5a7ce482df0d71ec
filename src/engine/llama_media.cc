#include "engine/llama_media.h"

#include <fit.h>
#include <gguf.h>
#include <llama.h>
#include <mtmd-helper.h>
#include <mtmd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "engine/llama_computed.h"
#include "engine/llama_context.h"
#include "engine/llama_images.h"
#include "engine/llama_runtime.h"

// The context for images. Invariants: sequences are copies of each other or grow at their end, and the last one made is
// the first one released, so rows lie in the cells in the order of their way from the root, without holes: bits depend
// on that way alone. positions_[s] is where sequence s goes on; with two-dimensional positions an image takes fewer
// positions than rows.

namespace assay::engine {
namespace {

constexpr std::int32_t kSequences = 4;    // trunk, question, lead, option; a recurrent state costs tens of MiB each
constexpr std::int32_t kOutputRows = 64;  // bounds the logits buffer

struct FreeContext {
  void operator()(llama_context* context) const { llama_free(context); }
};
struct FreeProjector {
  void operator()(mtmd_context* context) const { mtmd_free(context); }
};
struct CloseGguf {
  void operator()(gguf_context* context) const { gguf_free(context); }
};

llama_context_params media_context_params(const ModelOptions& options) {
  llama_context_params params = context_params(options, kSequences);
  params.n_ctx = static_cast<std::uint32_t>(options.context_tokens);
  params.n_outputs_max = static_cast<std::uint32_t>(kOutputRows);
  return params;
}

mtmd_context_params projector_params(const ModelOptions& options) {
  mtmd_context_params params = mtmd_context_params_default();
  params.use_gpu = options.gpu_layers != 0;
  params.print_timings = false;
  params.n_threads = options.threads;
  params.flash_attn_type = options.flash_attention ? LLAMA_FLASH_ATTN_TYPE_AUTO : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.image_min_tokens = options.image_tokens_min;
  params.image_max_tokens = options.image_tokens_max;
  return params;
}

std::string text_of(const gguf_context* gguf, const char* key) {
  const std::int64_t at = gguf_find_key(gguf, key);
  if (at < 0 || gguf_get_kv_type(gguf, at) != GGUF_TYPE_STRING) return {};
  return gguf_get_val_str(gguf, at);
}

bool flag_of(const gguf_context* gguf, const char* key) {
  const std::int64_t at = gguf_find_key(gguf, key);
  return at >= 0 && gguf_get_kv_type(gguf, at) == GGUF_TYPE_BOOL && gguf_get_val_bool(gguf, at);
}

// What an image becomes: tokens that the model wants around it, and pieces with embeddings.
struct ReadImage {
  mtmd::input_chunks_ptr chunks;
  std::vector<std::vector<float>> embeddings;  // by chunk; empty for text
  std::int32_t rows = 0;
};

class LlamaMedia final : public MediaDecoder {
 public:
  explicit LlamaMedia(const LlamaModel& model) : model_(model) {}

  Status open() {
    const ModelOptions& options = model_.options();
    follow_projector_log();
    note_computed();  // the projector's warm-up
    (void)take_llama_error();
    mtmd_context_params params = projector_params(options);
    projector_.reset(mtmd_init_from_file(options.mmproj.c_str(), model_.handle(), params));
    if (projector_ && mtmd_decode_use_non_causal(projector_.get(), nullptr)) {
      // An image that sees itself whole is computed at once, so it has to fit.
      const mtmd_memory_usage usage = mtmd_get_memory_usage(options.mmproj.c_str(), params);
      if (usage.image_max_tokens > options.batch_tokens) {
        params.image_max_tokens = options.batch_tokens;
        params.image_min_tokens = std::min(params.image_min_tokens, options.batch_tokens);
        projector_.reset();
        projector_.reset(mtmd_init_from_file(options.mmproj.c_str(), model_.handle(), params));
      }
    }
    if (!projector_) {
      return Error{ErrorCode::kUnsupportedModel,
                   options.mmproj + " cannot be loaded as this model's projector: " + take_llama_error(), "mmproj"};
    }
    context_.reset(llama_init_from_model(model_.handle(), media_context_params(options)));
    if (!context_) {
      return Error{ErrorCode::kOutOfMemory, "No context for images can be made: " + take_llama_error(), "mmproj"};
    }
    limits_ = {.batch_rows_max = static_cast<std::int32_t>(llama_n_batch(context_.get())),
               .output_rows_max = kOutputRows,
               .path_rows_max = options.context_tokens,
               .sequences_max = kSequences,
               .vocabulary_tokens = llama_vocab_n_tokens(model_.vocabulary())};
    positions_.fill(0);
    return {};
  }

  MediaLimits limits() const override { return limits_; }

  Status read_image(std::size_t index, const std::string& file) override {
    const Result<Pixels> pixels = decode_image(file);
    if (!pixels.ok()) return pixels.error();
    const mtmd::bitmap bitmap(pixels->width, pixels->height, pixels->rgb.data());
    const mtmd_input_part part = {.text = nullptr, .bitmap = bitmap.ptr.get()};
    const std::array<const mtmd_input_part*, 1> parts = {&part};
    ReadImage image{.chunks = mtmd::input_chunks_ptr(mtmd_input_chunks_init()), .embeddings = {}};
    if (mtmd_tokenize_from_parts(projector_.get(), image.chunks.get(), parts.data(), parts.size(), false) != 0)
      return invalid_argument("", "cannot be cut for this model: " + take_llama_error());
    for (std::size_t i = 0; i < mtmd_input_chunks_size(image.chunks.get()); i++) {
      const mtmd_input_chunk* chunk = mtmd_input_chunks_get(image.chunks.get(), i);
      const auto rows = static_cast<std::int32_t>(mtmd_input_chunk_get_n_tokens(chunk));
      if (is_image(chunk) && mtmd_decode_use_non_causal(projector_.get(), chunk) && rows > limits_.batch_rows_max) {
        return Error{ErrorCode::kTooLong,
                     "takes " + std::to_string(rows) + " tokens, which this model computes at once; at most " +
                         std::to_string(limits_.batch_rows_max) + " are allowed (batch_tokens)",
                     ""};
      }
      image.rows += rows;
      image.embeddings.emplace_back();
    }
    if (images_.size() <= index) images_.resize(index + 1);
    images_[index] = std::move(image);
    return {};
  }

  std::int32_t image_rows(std::size_t index) const override { return images_[index].rows; }

  Status encode_image(std::size_t index) override {
    note_computed();
    ReadImage& image = images_[index];
    const auto width = static_cast<std::size_t>(llama_model_n_embd_inp(model_.handle()));
    for (std::size_t i = 0; i < image.embeddings.size(); i++) {
      const mtmd_input_chunk* chunk = mtmd_input_chunks_get(image.chunks.get(), i);
      if (!is_image(chunk)) continue;
      if (mtmd_encode_chunk(projector_.get(), chunk) != 0) return failed("an image could not be encoded");
      const float* embeddings = mtmd_get_output_embd(projector_.get());
      image.embeddings[i].assign(embeddings, embeddings + width * mtmd_input_chunk_get_n_tokens(chunk));
    }
    return {};
  }

  Status append_image(SequenceId sequence, std::size_t index, const std::function<Status()>& go_on) override {
    ReadImage& image = images_[index];
    for (std::size_t i = 0; i < image.embeddings.size(); i++) {
      if (i > 0) {
        if (Status status = go_on(); !status.ok()) return status;
      }
      const mtmd_input_chunk* chunk = mtmd_input_chunks_get(image.chunks.get(), i);
      const Status status = is_image(chunk) ? append_embeddings(sequence, chunk, image.embeddings[i], go_on)
                                            : append_own_tokens(sequence, chunk);
      if (!status.ok()) return status;
    }
    return {};
  }

  Status append_tokens(SequenceId sequence, std::span<const TokenId> tokens,
                       std::span<const std::int8_t> outputs) override {
    ASSAY_ASSERT(!tokens.empty() && std::ssize(tokens) <= limits_.batch_rows_max && outputs.size() == tokens.size());
    note_computed();
    std::vector<llama_token> ids(tokens.begin(), tokens.end());
    std::vector<llama_pos> places(tokens.size());
    std::vector<std::int32_t> counts(tokens.size(), 1);
    llama_seq_id id = sequence;
    std::vector<llama_seq_id*> sequences(tokens.size(), &id);
    std::vector<std::int8_t> flags(outputs.begin(), outputs.end());
    for (llama_pos& place : places) place = positions_[sequence]++;
    llama_batch batch = {};
    batch.n_tokens = static_cast<std::int32_t>(tokens.size());
    batch.token = ids.data();
    batch.pos = places.data();
    batch.n_seq_id = counts.data();
    batch.seq_id = sequences.data();
    batch.logits = flags.data();
    if (llama_decode(context_.get(), batch) != 0) return failed("a decode failed");
    return {};
  }

  std::span<const float> logits(std::size_t row) override {
    const float* logits = llama_get_logits_ith(context_.get(), static_cast<std::int32_t>(row));
    ASSAY_ASSERT(logits != nullptr);
    return {logits, static_cast<std::size_t>(limits_.vocabulary_tokens)};
  }

  void fork(SequenceId from, SequenceId to) override {
    llama_memory_seq_cp(memory(), from, to, -1, -1);
    positions_[to] = positions_[from];
  }
  void release(SequenceId sequence) override {
    llama_memory_seq_rm(memory(), sequence, -1, -1);
    positions_[sequence] = 0;
  }
  void reset() override { forget(false); }
  void wipe() override { forget(true); }

 private:
  // Numbers of cells that nobody sees add nothing to a sum as long as they are finite, so they may stay.
  void forget(bool numbers) {
    llama_memory_clear(memory(), numbers);
    positions_.fill(0);
    images_.clear();
  }

  llama_memory_t memory() const { return llama_get_memory(context_.get()); }
  static bool is_image(const mtmd_input_chunk* chunk) {
    return mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_IMAGE;
  }
  static Error failed(const std::string& what) {
    return {ErrorCode::kInternal, "For a request with images " + what + ": " + take_llama_error(), ""};
  }

  Status append_own_tokens(SequenceId sequence, const mtmd_input_chunk* chunk) {
    std::size_t count = 0;
    const llama_token* tokens = mtmd_input_chunk_get_tokens_text(chunk, &count);
    const std::vector<std::int8_t> none(count, 0);
    for (std::size_t at = 0; at < count;) {
      const std::size_t rows = std::min(count - at, static_cast<std::size_t>(limits_.batch_rows_max));
      if (Status status = append_tokens(sequence, {tokens + at, rows}, std::span(none).first(rows)); !status.ok())
        return status;
      at += rows;
    }
    return {};
  }

  Status append_embeddings(SequenceId sequence, const mtmd_input_chunk* chunk, std::vector<float>& embeddings,
                           const std::function<Status()>& go_on) {
    note_computed();
    struct Pause {
      const std::function<Status()>& go_on;
      std::int32_t rows_left;
      Status status;
    } pause{go_on, static_cast<std::int32_t>(mtmd_input_chunk_get_n_tokens(chunk)), {}};
    // Between two batches of one image; behind the last one there is nothing to pause for.
    const auto between = [](const mtmd_helper_embd_batch* batch, void* data) {
      auto& told = *static_cast<Pause*>(data);
      told.rows_left -= batch->n_tokens;
      if (told.rows_left > 0) told.status = told.go_on();
      return told.status.ok() ? 0 : 1;
    };
    const std::int32_t outcome =
        mtmd_helper_decode_image_chunk(projector_.get(), context_.get(), chunk, embeddings.data(), positions_[sequence],
                                       sequence, limits_.batch_rows_max, &positions_[sequence], between, &pause);
    if (!pause.status.ok()) return pause.status;
    if (outcome != 0) return failed("an image's rows could not be computed");
    return {};
  }

  const LlamaModel& model_;
  std::unique_ptr<mtmd_context, FreeProjector> projector_;
  std::unique_ptr<llama_context, FreeContext> context_;
  MediaLimits limits_;
  std::array<llama_pos, kSequences> positions_ = {};
  std::vector<ReadImage> images_;
};

}  // namespace

Result<ProjectorFacts> inspect_projector(const std::string& path) {
  start_llama();
  std::error_code error;
  ProjectorFacts facts;
  facts.file_bytes = std::filesystem::file_size(path, error);
  if (error) return Error{ErrorCode::kNotFound, path + " cannot be read: " + error.message(), "mmproj"};
  const std::unique_ptr<gguf_context, CloseGguf> gguf(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
  if (!gguf) return Error{ErrorCode::kUnsupportedModel, path + " is no GGUF file, or is cut short.", "mmproj"};
  if (text_of(gguf.get(), "general.architecture") != "clip")
    return Error{ErrorCode::kUnsupportedModel, path + " is no projector (mmproj) file.", "mmproj"};
  facts.name = text_of(gguf.get(), "clip.projector_type");
  if (facts.name.empty()) facts.name = text_of(gguf.get(), "clip.vision.projector_type");
  if (!flag_of(gguf.get(), "clip.has_vision_encoder")) facts.refused = "the projector is not for images";
  // Their images' rows depend on what else stands in the prompt; each image is cut on its own here.
  for (const std::string_view kind : {"hunyuanvl", "deepseek4v"}) {
    if (facts.name == kind)
      facts.refused = "decisions cannot read images through a projector of the kind " + facts.name;
  }
  return facts;
}

Result<std::uint64_t> media_memory_bytes(const ModelOptions& options) {
  if (options.mmproj.empty()) return std::uint64_t{0};
  const Result<ProjectorFacts> facts = inspect_projector(options.mmproj);
  if (!facts.ok()) return facts.error();
  if (!facts->refused.empty()) return std::uint64_t{0};
  follow_projector_log();
  std::uint64_t bytes = 0;
  const mtmd_memory_usage usage = mtmd_get_memory_usage(options.mmproj.c_str(), projector_params(options));
  for (const auto& [device, used] : usage.backend_mem_usage) bytes += used;
  bytes = std::max(bytes, facts->file_bytes);
  const llama_model_params model = llama_model_default_params();
  const llama_context_params context = media_context_params(options);
  std::vector<ggml_backend_dev_t> devices;
  std::uint32_t layers = 0;
  std::uint32_t trained = 0;
  std::uint32_t experts = 0;
  try {
    const common_device_memory_data_vec memory = common_get_device_memory_data(
        options.path.c_str(), &model, &context, devices, layers, trained, experts, GGML_LOG_LEVEL_ERROR);
    if (!memory.empty()) bytes += memory.back().context + memory.back().compute;
  } catch (const std::exception& exception) {
    start_llama();
    return Error{ErrorCode::kUnsupportedModel,
                 options.path + " cannot be loaded beside a projector: " + exception.what(), "model"};
  }
  start_llama();  // the dry run changes llama.cpp's log
  return bytes;
}

Result<std::unique_ptr<MediaDecoder>> open_media(const LlamaModel& model) {
  auto media = std::make_unique<LlamaMedia>(model);
  if (Status status = media->open(); !status.ok()) return status.error();
  return std::unique_ptr<MediaDecoder>(std::move(media));
}

}  // namespace assay::engine
