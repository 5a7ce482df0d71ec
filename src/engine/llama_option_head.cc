#include "engine/llama_option_head.h"

#include <fcntl.h>
#include <ggml.h>
#include <gguf.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace assay::engine {
namespace {

constexpr std::size_t kRowsMax = 4096;  // that are kept; labels are a few hundred
constexpr std::int32_t kTrialRows = 64;
constexpr std::int32_t kTrialOutputs = 32;
constexpr std::int32_t kTrialTokens = 64;

struct CloseGguf {
  void operator()(gguf_context* context) const { gguf_free(context); }
};
struct FreeGgml {
  void operator()(ggml_context* context) const { ggml_free(context); }
};

// The file's own matrix, or the one that it shares with the token embeddings.
const ggml_tensor* find_matrix(ggml_context* tensors) {
  const ggml_tensor* output = ggml_get_tensor(tensors, "output.weight");
  return output != nullptr ? output : ggml_get_tensor(tensors, "token_embd.weight");
}

bool read_at(int file, char* to, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t got = pread(file, to, bytes, static_cast<off_t>(offset));
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

std::unique_ptr<OptionHead> OptionHead::open(const std::string& path, std::int32_t hidden_size,
                                             std::int32_t vocabulary_tokens) {
  ggml_context* tensors_made = nullptr;
  const std::unique_ptr<gguf_context, CloseGguf> gguf(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = &tensors_made}));
  const std::unique_ptr<ggml_context, FreeGgml> tensors(tensors_made);
  if (!gguf || !tensors) return nullptr;
  const ggml_tensor* matrix = find_matrix(tensors.get());
  if (matrix == nullptr || matrix->ne[0] != hidden_size || matrix->ne[1] != vocabulary_tokens) return nullptr;
  if (matrix->type != GGML_TYPE_F32 && ggml_get_type_traits(matrix->type)->to_float == nullptr) return nullptr;
  const std::int64_t index = gguf_find_tensor(gguf.get(), matrix->name);
  if (index < 0) return nullptr;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  return std::unique_ptr<OptionHead>(
      new OptionHead(file, gguf_get_data_offset(gguf.get()) + gguf_get_tensor_offset(gguf.get(), index),
                     ggml_row_size(matrix->type, hidden_size), matrix->type, hidden_size));
}

OptionHead::~OptionHead() { close(file_); }

std::shared_ptr<const std::vector<float>> OptionHead::row(TokenId token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto known = rows_.find(token); known != rows_.end()) return known->second;
  std::string bytes(row_bytes_, '\0');
  if (!read_at(file_, bytes.data(), bytes.size(), offset_ + static_cast<std::uint64_t>(token) * row_bytes_))
    return nullptr;
  std::vector<float> numbers(static_cast<std::size_t>(hidden_size_));
  if (type_ == GGML_TYPE_F32) {
    std::copy_n(bytes.data(), row_bytes_, reinterpret_cast<char*>(numbers.data()));
  } else {
    ggml_get_type_traits(static_cast<ggml_type>(type_))->to_float(bytes.data(), numbers.data(), hidden_size_);
  }
  if (rows_.size() >= kRowsMax) rows_.clear();
  return rows_.emplace(token, std::make_shared<const std::vector<float>>(std::move(numbers))).first->second;
}

float OptionHead::logit(std::span<const float> hidden, TokenId token) {
  const std::shared_ptr<const std::vector<float>> weights = row(token);
  if (weights == nullptr) return std::numeric_limits<float>::quiet_NaN();
  double sum = 0;
  for (std::size_t i = 0; i < hidden.size(); i++)
    sum += static_cast<double>(hidden[i]) * static_cast<double>((*weights)[i]);
  return static_cast<float>(sum);
}

Result<double> option_head_difference(Decoder& decoder) {
  const DecoderLimits limits = decoder.limits();
  if (!limits.option_head) return -1.0;
  const auto token = [&limits](std::int32_t number) {
    return static_cast<TokenId>((static_cast<std::int64_t>(number) * 7919 + 13) % limits.vocabulary_tokens);
  };
  std::vector<BatchRow> rows;
  for (std::int32_t i = 0; i < std::min(kTrialRows, limits.batch_rows_max); i++)
    rows.push_back({.token = token(i), .position = i, .cell = i, .sequences = {0}});
  for (std::size_t i = rows.size() - kTrialOutputs; i < rows.size(); i++) rows[i].output = true;
  const std::size_t last = rows.size() - 1;
  std::vector<float> alone;
  double most = 0;
  for (const bool logits : {false, true}) {
    decoder.reset();
    if (Status status = decoder.decode(rows, {.logits = logits, .hidden_states = true}); !status.ok())
      return status.error();
    if (decoder.hidden_state(last).empty()) return -1.0;
    for (std::int32_t i = 0; i < kTrialTokens; i++) {
      const TokenId tried = token(1000 + i);
      const float own = decoder.option_logit(last, tried);
      if (!logits) {
        alone.push_back(own);
        continue;
      }
      // The same with and without the head behind it, or stopping before it moves what was computed.
      if (own != alone[static_cast<std::size_t>(i)]) return -1.0;
      const double whole = static_cast<double>(decoder.logits(last)[tried]);
      most = std::max(most, std::abs(static_cast<double>(own) - whole));
    }
  }
  decoder.reset();
  return std::isfinite(most) ? most : -1.0;
}

}  // namespace assay::engine
