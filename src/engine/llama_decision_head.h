#pragma once
// Models that carry their own decision head ("<arch>.decision.type") answer through llama.cpp's decision code: its
// server context and its /v1/systemone handler, called in this process.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "assay/error.h"
#include "assay/options.h"

namespace assay::engine {

enum class HeadQuestionType { kNoul, kChoice, kScore };

// A question in llama.cpp's words. JSON texts are ready-made.
struct HeadQuestion {
  HeadQuestionType type = HeadQuestionType::kChoice;
  std::string instructions;               // plain text
  std::vector<std::string> option_keys;   // kNoul: "false", "true"; kScore: ignored
  std::vector<std::string> descriptions;  // by option; empty: none
};

struct HeadAnswer {
  std::vector<double> probabilities;  // by option; kNoul: {no, yes}
};

struct HeadReply {
  std::vector<HeadAnswer> answers;
  std::int32_t input_tokens = 0;
};

// Whether prompts of this kind of head have a place for images.
bool head_reads_images(const std::string& decision_head);

// Thread-safe: llama.cpp queues what comes in.
class LlamaDecisionHead {
 public:
  // Loads the model into llama.cpp's server context and starts its loop. REQUIRES: options.path was inspected and has a
  // decision head.
  static Result<std::unique_ptr<LlamaDecisionHead>> open(const ModelOptions& options);
  ~LlamaDecisionHead();
  LlamaDecisionHead(const LlamaDecisionHead&) = delete;
  LlamaDecisionHead& operator=(const LlamaDecisionHead&) = delete;

  // `state_json` is a JSON text, `image_urls` are data URLs. Errors: kInvalidArgument with llama.cpp's words,
  // kNonfiniteLogits, kInternal. REQUIRES: no images where head_reads_images() says no or options.mmproj was empty.
  Result<HeadReply> answer(const std::string& state_json, const std::vector<HeadQuestion>& questions,
                           const std::vector<std::string>& image_urls = {});

  // What llama.cpp says of the loaded model.
  std::string description() const;
  std::uint64_t weights_bytes() const;
  std::uint64_t parameters() const;
  std::int32_t trained_context_tokens() const;
  std::int32_t vocabulary_tokens() const;
  std::int32_t context_tokens() const;

 private:
  struct Parts;
  explicit LlamaDecisionHead(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace assay::engine
