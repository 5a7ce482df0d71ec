#pragma once
// A GGUF: looked at before it is loaded, refused by name of the reason, then held for everything else in this room.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/error.h"
#include "assay/options.h"
#include "engine/decoder.h"
#include "engine/llama_packing.h"

struct llama_model;
struct llama_vocab;

namespace assay::engine {

// What the file says of itself; known before the weights are loaded.
struct ModelFacts {
  std::string architecture;
  std::string decision_head;                 // "<arch>.decision.type", empty for ordinary models
  std::string chat_template;                 // the model's own, empty when it has none
  std::uint64_t file_bytes = 0;              // of all shards
  std::uint64_t trained_context_tokens = 0;  // 0 when the file does not say
  bool tokenizer_only = false;               // a vocabulary without weights
  bool recurrent = false;                    // has recurrent layers, by its metadata
  std::uint64_t packed_bytes = 0;            // of packed copies of all matrices that can have one (docs/kernels.md)
  bool packs_experts = false;                // matrices of experts are among them
  // Why it reads texts and answers with numbers of another kind ("it is an embedding model"); empty: it may decide.
  std::string only_embeds;
};

// Reads the metadata only. Errors: kNotFound, kUnsupportedModel with the reason (no GGUF or cut short; an
// embedding, encoder, drafter, projector or adapter file).
Result<ModelFacts> inspect_gguf(const std::string& path);
// The same, and models for embeddings and reranking, encoders among them, are no error.
Result<ModelFacts> inspect_any_gguf(const std::string& path);

// `options` with every 0 replaced by what it stands for with this file. Errors: kInvalidArgument.
Result<ModelOptions> settle_options(ModelOptions options, const ModelFacts& facts);

// What loading would take, measured by llama.cpp's own dry run; logged beside what is free. Errors: kUnsupportedModel,
// and kOutOfMemory with both numbers when options.check_memory is set and it is more than is free. REQUIRES: settled
// options.
Result<std::uint64_t> estimate_memory_bytes(const ModelOptions& options);

// Immutable after load(), so thread-safe; the decoders made from it are not.
class LlamaModel {
 public:
  // Errors: those of inspect_gguf(), kOutOfMemory with both numbers, kUnsupportedModel with llama.cpp's own last words.
  static Result<std::unique_ptr<LlamaModel>> load(const ModelOptions& options);
  // The vocabulary alone, also of a file without weights: for tests and tools.
  static Result<std::unique_ptr<LlamaModel>> load_vocabulary(const std::string& path);
  // Weights that somebody else has loaded from options.path, after prepare_packing(), and frees after this is gone.
  // Packs them. Errors: those of inspect_gguf(), settle_options() and finish_packing(). REQUIRES: model != nullptr, and
  // nothing computes with it yet.
  static Result<std::unique_ptr<LlamaModel>> adopt(const ModelOptions& options, llama_model* model,
                                                   std::uint64_t memory_needed_bytes);
  ~LlamaModel();
  LlamaModel(const LlamaModel&) = delete;
  LlamaModel& operator=(const LlamaModel&) = delete;

  const ModelFacts& facts() const { return facts_; }
  const ModelOptions& options() const { return options_; }  // with every 0 replaced by what it stands for
  llama_model* handle() const { return model_; }
  const llama_vocab* vocabulary() const;
  std::string description() const;
  std::uint64_t weights_bytes() const;
  std::uint64_t parameters() const;
  std::int32_t trained_context_tokens() const;
  bool recurrent() const;
  std::uint64_t memory_needed_bytes() const { return memory_needed_bytes_; }
  const PackingReport& packing() const { return packing_; }

  // A context of its own on these weights. `option_head`: with option_logit(), where the file allows it. REQUIRES: this
  // outlives it. Errors: kOutOfMemory.
  Result<std::unique_ptr<Decoder>> make_decoder(const BitRules& rules = {}, bool option_head = false) const;

 private:
  LlamaModel(llama_model* model, ModelFacts facts, ModelOptions options)
      : model_(model), facts_(std::move(facts)), options_(std::move(options)) {}

  Status finish_load(std::uint64_t memory_needed_bytes);

  llama_model* const model_;
  bool owns_weights_ = true;
  const ModelFacts facts_;
  ModelOptions options_;
  std::uint64_t memory_needed_bytes_ = 0;
  PackingReport packing_;
};

}  // namespace assay::engine
