#pragma once
// Logits of single tokens from a hidden state: rows of the model's output matrix, read from the file and multiplied
// here. So the whole vocabulary need not be computed where only the options count.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/decoder.h"

namespace assay::engine {

// Thread-safe.
class OptionHead {
 public:
  // The output matrix of a GGUF file ("output.weight", or the token embeddings where they serve as it); nullptr when
  // the file has none of the expected shape, as with models in several files.
  static std::unique_ptr<OptionHead> open(const std::string& path, std::int32_t hidden_size,
                                          std::int32_t vocabulary_tokens);
  ~OptionHead();
  OptionHead(const OptionHead&) = delete;
  OptionHead& operator=(const OptionHead&) = delete;

  // The token's row times the hidden state, in double, always in the same order of additions. NaN when the row cannot
  // be read. REQUIRES: hidden_size numbers; a token of the vocabulary.
  float logit(std::span<const float> hidden, TokenId token);

 private:
  OptionHead(int file, std::uint64_t offset, std::size_t row_bytes, int type, std::int32_t hidden_size)
      : file_(file), offset_(offset), row_bytes_(row_bytes), type_(type), hidden_size_(hidden_size) {}
  std::shared_ptr<const std::vector<float>> row(TokenId token);

  const int file_;
  const std::uint64_t offset_;  // of the matrix in the file
  const std::size_t row_bytes_;
  const int type_;  // ggml_type
  const std::int32_t hidden_size_;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<TokenId, std::shared_ptr<const std::vector<float>>> rows_;
};

// Tries on this model whether option_logit() says what logits() says: the largest difference, or a negative number when
// it cannot be had (an architecture that names its last hidden state otherwise). Computes a batch twice; leaves the
// decoder empty. Errors: those of Decoder::decode().
Result<double> option_head_difference(Decoder& decoder);
// Above this the head does more than the product (a scale, a cap), or the file says something else than was loaded.
inline constexpr double kOptionHeadDifferenceMax = 0.25;

}  // namespace assay::engine
