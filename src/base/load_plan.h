#pragma once
// What is known of a model before its weights are loaded, for whoever loads them.

#include <cstdint>
#include <memory>
#include <string>

namespace assay {

struct LoadPlan {
  bool extra_buffers = true;              // whether llama.cpp's packed weights may be used
  bool packing = true;                    // and ours
  std::uint64_t memory_needed_bytes = 0;  // estimate for the weights and the decisions
  std::uint64_t memory_free_bytes = 0;
  std::int32_t threads = 1;
  std::int32_t context_tokens = 0;  // of a decision
  bool has_head = false;            // the model answers through a decision head of its own
  std::string cannot_decide;        // why it serves embeddings or ranks alone; empty: it decides
  // What a trial has made of the weights and loading them need not make again. To be let go of when they are loaded:
  // from then on the model holds what it uses of it, and the rest is memory without a use.
  std::shared_ptr<const void> packed;
};

}  // namespace assay
