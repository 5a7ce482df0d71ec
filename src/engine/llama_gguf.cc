// inspect_gguf(): what a GGUF says of itself, and whether it can make decisions at all.

#include <ggml.h>
#include <gguf.h>
#include <llama.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <regex>
#include <string_view>

#include "engine/llama_model.h"
#include "engine/llama_runtime.h"
#include "kernels/ggml_shapes.h"

namespace assay::engine {
namespace {

struct CloseGguf {
  void operator()(gguf_context* context) const { gguf_free(context); }
};
using Gguf = std::unique_ptr<gguf_context, CloseGguf>;

struct FreeTensors {
  void operator()(ggml_context* context) const { ggml_free(context); }
};

// Metadata, and tensors without their numbers.
struct OpenGguf {
  explicit OpenGguf(const std::string& path) {
    ggml_context* context = nullptr;
    gguf.reset(gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = &context}));
    tensors.reset(context);
  }
  Gguf gguf;  // null: no GGUF
  std::unique_ptr<ggml_context, FreeTensors> tensors;
};

std::string text_of(const Gguf& gguf, const std::string& key) {
  const std::int64_t at = gguf_find_key(gguf.get(), key.c_str());
  if (at < 0 || gguf_get_kv_type(gguf.get(), at) != GGUF_TYPE_STRING) return {};
  return gguf_get_val_str(gguf.get(), at);
}

std::optional<std::uint64_t> number_of(const Gguf& gguf, const std::string& key) {
  const std::int64_t at = gguf_find_key(gguf.get(), key.c_str());
  if (at < 0) return std::nullopt;
  switch (gguf_get_kv_type(gguf.get(), at)) {
    case GGUF_TYPE_UINT8:
      return gguf_get_val_u8(gguf.get(), at);
    case GGUF_TYPE_UINT16:
      return gguf_get_val_u16(gguf.get(), at);
    case GGUF_TYPE_UINT32:
      return gguf_get_val_u32(gguf.get(), at);
    case GGUF_TYPE_INT32:
      return static_cast<std::uint64_t>(gguf_get_val_i32(gguf.get(), at));
    case GGUF_TYPE_UINT64:
      return gguf_get_val_u64(gguf.get(), at);
    case GGUF_TYPE_BOOL:
      return gguf_get_val_bool(gguf.get(), at) ? 1 : 0;
    default:
      return std::nullopt;
  }
}

// Architectures that llama.cpp loads but that read no text from left to right on their own.
struct Refused {
  std::string_view architecture;
  std::string_view reason;
};
constexpr std::array<Refused, 11> kEmbeds = {{
    {"bert", "it is an encoder for embeddings"},
    {"modern-bert", "it is an encoder for embeddings"},
    {"nomic-bert", "it is an encoder for embeddings"},
    {"nomic-bert-moe", "it is an encoder for embeddings"},
    {"neo-bert", "it is an encoder for embeddings"},
    {"jina-bert-v2", "it is an encoder for embeddings"},
    {"jina-bert-v3", "it is an encoder for embeddings"},
    {"eurobert", "it is an encoder for embeddings"},
    {"gemma-embedding", "it is an embedding model"},
    {"llama-embed", "it is an embedding model"},
    {"t5encoder", "it is an encoder"},
}};
constexpr std::array<Refused, 15> kRefused = {{
    {"clip", "it is a multimodal projector (mmproj), not a language model"},
    {"t5", "it is an encoder-decoder model"},
    {"eagle3", "it is a drafter for speculative decoding"},
    {"dflash", "it is a drafter for speculative decoding"},
    {"gemma4-assistant", "it is a drafter for speculative decoding"},
    {"dream", "it is a diffusion model"},
    {"llada", "it is a diffusion model"},
    {"llada-moe", "it is a diffusion model"},
    {"rnd1", "it is a diffusion model"},
    {"wavtokenizer-dec", "it is an audio decoder"},
    {"qwen3tts", "it is a speech model"},
    {"pockettts", "it is a speech model"},
    {"imatrix", "it is an importance matrix"},
    {"control_vector", "it is a control vector"},
    {"controlvector", "it is a control vector"},
}};

Error unsupported(const std::string& path, std::string_view reason) {
  return {ErrorCode::kUnsupportedModel, path + " cannot make decisions: " + std::string(reason) + ".", "model"};
}

// Models that llama.cpp's server serves for embeddings or for reranking; what they are, or nothing.
std::string what_embeds(const Gguf& gguf, const ModelFacts& facts) {
  for (const Refused& refused : kEmbeds) {
    if (facts.architecture == refused.architecture) return std::string(refused.reason);
  }
  const std::uint64_t pooling = number_of(gguf, facts.architecture + ".pooling_type").value_or(LLAMA_POOLING_TYPE_NONE);
  if (pooling == LLAMA_POOLING_TYPE_RANK) return "it is a reranker (pooling type rank)";
  if (pooling != LLAMA_POOLING_TYPE_NONE) return "it is an embedding model (it pools its outputs)";
  if (number_of(gguf, facts.architecture + ".attention.causal").value_or(1) == 0) {
    return "its attention is not causal, so it predicts no next token";
  }
  return "";
}

bool is_later_shard(const Gguf& gguf) {
  return number_of(gguf, "split.count").value_or(1) > 1 && number_of(gguf, "split.no").value_or(0) != 0;
}

// A decision head changes the rules: an encoder with one (Laya, Clef) answers through llama.cpp's decision code.
Status check_kind(const std::string& path, const Gguf& gguf, ModelFacts& facts) {
  const std::string type = text_of(gguf, "general.type");
  if (type == "adapter") return unsupported(path, "it is an adapter (LoRA); give the base model");
  if (type == "mmproj") return unsupported(path, "it is a multimodal projector (mmproj), not a language model");
  if (type == "imatrix") return unsupported(path, "it is an importance matrix");
  // These say no more than which one they are, so this comes before what they lack.
  if (is_later_shard(gguf))
    return unsupported(path, "it is a later shard of a split model; give the first one (-00001-of-)");
  if (facts.architecture.empty()) return unsupported(path, "its metadata has no general.architecture");
  if (!facts.decision_head.empty()) return {};
  for (const Refused& refused : kRefused) {
    if (facts.architecture == refused.architecture) return unsupported(path, refused.reason);
  }
  facts.only_embeds = what_embeds(gguf, facts);
  // llama.cpp ends the process on these; a file must not be able to.
  const std::uint64_t blocks = number_of(gguf, facts.architecture + ".block_count").value_or(1);
  if (!facts.tokenizer_only && (blocks == 0 || blocks > 512))
    return unsupported(path, "its block count is " + std::to_string(blocks));
  return {};
}

// All files of the model, of which `path` is the first.
Result<std::vector<std::string>> shards_of(const std::string& path, const Gguf& gguf) {
  const std::uint64_t shards = number_of(gguf, "split.count").value_or(1);
  if (shards <= 1) return std::vector{path};
  std::smatch match;
  static const std::regex kShard("^(.*)-00001-of-([0-9]{5})\\.gguf$");
  if (!std::regex_match(path, match, kShard))
    return unsupported(path, "it is the first shard of a split model but is not named NAME-00001-of-0000N.gguf");
  std::vector<std::string> names;
  for (std::uint64_t shard = 1; shard <= shards; shard++) {
    const std::string number = std::to_string(100000 + shard).substr(1);
    names.push_back(match[1].str() + "-" + number + "-of-" + match[2].str() + ".gguf");
    std::error_code failure;
    if (!std::filesystem::exists(names.back(), failure))
      return Error{ErrorCode::kNotFound, "The shard " + names.back() + " is missing.", "model"};
  }
  return names;
}

// What its matrices would take packed.
void count_packed(const OpenGguf& file, ModelFacts& facts) {
  for (ggml_tensor* tensor = ggml_get_first_tensor(file.tensors.get()); tensor != nullptr;
       tensor = ggml_get_next_tensor(file.tensors.get(), tensor)) {
    if (!kernels::can_pack(*tensor)) continue;
    facts.packed_bytes += kernels::stacked_shape(*tensor).bytes();
    facts.packs_experts = facts.packs_experts || tensor->ne[2] > 1;
  }
}

// Adds up the model's files, of which the first one is open.
Status count_bytes(const std::string& path, const OpenGguf& first, ModelFacts& facts) {
  const Result<std::vector<std::string>> shards = shards_of(path, first.gguf);
  if (!shards.ok()) return shards.error();
  count_packed(first, facts);
  for (const std::string& shard : *shards) {
    std::error_code failure;
    const std::uint64_t bytes = std::filesystem::file_size(shard, failure);
    if (!failure) facts.file_bytes += bytes;
    if (shard == path) continue;
    const OpenGguf other(shard);
    if (other.gguf) count_packed(other, facts);  // else llama.cpp refuses it
  }
  return {};
}

}  // namespace

Result<ModelFacts> inspect_any_gguf(const std::string& path) {
  start_llama();
  std::error_code failure;
  if (!std::filesystem::exists(path, failure))
    return Error{ErrorCode::kNotFound, "There is no model file at " + path + ".", "model"};
  if (!std::filesystem::is_regular_file(path, failure))
    return Error{ErrorCode::kNotFound, path + " is not a file.", "model"};
  const OpenGguf file(path);
  const Gguf& gguf = file.gguf;
  if (!gguf) {
    const std::string reason = take_llama_error();
    return Error{ErrorCode::kUnsupportedModel,
                 path + " is not a complete GGUF file" + (reason.empty() ? "." : " (" + reason + ")."), "model"};
  }
  ModelFacts facts;
  facts.architecture = text_of(gguf, "general.architecture");
  facts.decision_head = text_of(gguf, facts.architecture + ".decision.type");
  facts.chat_template = text_of(gguf, "tokenizer.chat_template");
  facts.trained_context_tokens = number_of(gguf, facts.architecture + ".context_length").value_or(0);
  facts.tokenizer_only = gguf_get_n_tensors(gguf.get()) == 0;
  for (const char* key : {".ssm.conv_kernel", ".ssm.state_size", ".wkv.head_size", ".shortconv.l_cache"}) {
    facts.recurrent = facts.recurrent || number_of(gguf, facts.architecture + key).value_or(0) > 0;
  }
  if (Status status = check_kind(path, gguf, facts); !status.ok()) return status.error();
  if (Status status = count_bytes(path, file, facts); !status.ok()) return status.error();
  return facts;
}

Result<ModelFacts> inspect_gguf(const std::string& path) {
  Result<ModelFacts> facts = inspect_any_gguf(path);
  if (facts.ok() && !facts->only_embeds.empty()) return unsupported(path, facts->only_embeds);
  return facts;
}

}  // namespace assay::engine
