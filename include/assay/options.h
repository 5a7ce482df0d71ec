#pragma once
// Settings of the model, the engine and the decisions. Every field says its default, what it means and how to choose.

#include <cstdint>
#include <functional>
#include <string>

#include "assay/decision.h"

namespace assay {

// Packed copies of quantised weights, for kernels of this program's own (docs/kernels.md).
enum class Packing {
  // On where the memory is free, else panel; weights of experts are left out first. Off with a GPU or where the CPU has
  // no unit for it (default).
  kAuto,
  kOn,     // once, after loading: fastest, about a byte a weight more memory
  kPanel,  // piece by piece inside of each product: no memory, slower; one row and experts stay with llama.cpp
  kOff,    // llama.cpp's own kernels
};

struct ModelOptions {
  std::string path;                  // a GGUF file (the first shard of a split one)
  std::string chat_template;         // Jinja text that replaces the model's own; empty keeps it
  std::int32_t threads = 0;          // 0: the number of physical cores this process may use
  std::int32_t context_tokens = 0;   // longest prompt plus its options; 0: what the model was trained for, at most 8192
  std::int32_t batch_tokens = 512;   // most rows computed at once; at least 64
  std::int32_t sequences_max = 128;  // branches at work and kept prefixes; each option scored as text is one. 8..256
  std::int32_t gpu_layers = -1;      // layers on a GPU where the build has one; -1: all
  bool flash_attention = true;       // where the backend has it; faster, and foreign sequences cost it next to nothing
  std::int32_t cache_tokens = 4096;  // room for the prefix cache besides context_tokens
  // Where a read needs no more than its options' logits, compute those alone instead of the whole vocabulary's.
  bool option_head = true;
  bool extra_buffers = true;  // packed weights (faster); switched off by the start-up check when it crashes
  Packing packing = Packing::kAuto;
  // With packing on: packed weights are kept in files here and mapped, so that a restart need not pack and processes
  // share the pages; made when missing. Where it cannot be used, weights are packed in memory. Empty: always in memory.
  std::string pack_cache_dir;
  std::string file_sha256;  // of `path`, 64 hex digits, where the caller knows it; else computed where it is needed
  // A GGUF that turns images into rows for this model (llama-server's --mmproj); empty: decisions read no images. It
  // takes its own memory and that of one more context of context_tokens.
  std::string mmproj;
  // Rows of one image, for projectors that cut images by their size; -1: as the file says.
  std::int32_t image_tokens_min = -1;
  std::int32_t image_tokens_max = -1;
  bool mmap = true;
  bool check_memory = true;  // refuse to load what the free memory cannot hold
  // Called with 0..1 while weights load; may be empty.
  std::function<void(float)> progress;
};

enum class SpecialTokens {
  kLiteral,  // text that spells a control token is tokenised as plain text (default)
  kReject,   // such text is refused with 400, as SemIf does
};

struct DeciderOptions {
  ModelOptions model;
  Readout readout = Readout::kAuto;  // what kAuto requests get; kAuto lets the check at load choose
  SpecialTokens special_tokens = SpecialTokens::kLiteral;
  RequestLimits limits;
  std::size_t queue_jobs_max = 256;     // accepted requests that wait; above it kOverloaded
  Layout layout = Layout::kStateFirst;  // what kAuto requests get
  double timeout_ms = 0;                // of requests that name none; 0: no deadline
  // A decode is kept this short: three times that while only long jobs are there, half of it where short ones keep
  // coming beside a long one.
  double step_ms = 100;
  double stuck_seconds = 120;            // a decode that takes longer makes the decider unhealthy
  std::size_t answer_cache_entries = 0;  // whole replies kept for requests that come again, in at most 256 MiB; 0: off
  std::string snapshots_dir;             // prefixes computed before (assay warm) are read from here; empty: none
  bool write_snapshots = false;          // each kept prefix is written there as soon as it is computed
  // A folder of lessons (docs/lessons.md) that open() puts on top; empty: none. TaughtDecider (lesson_desk.h) does
  // more.
  std::string lessons_dir;
  std::size_t prior_cache_tokens = 262144;  // bound of the cache of option priors, in tokens of its keys
  bool readout_check = true;                // run (or read the stored result of) the built-in check at load
  bool start_check = true;                  // try one decode in a child process before serving
  std::string check_dir;  // where check results are kept; empty: beside the model, else the user's cache folder
};

}  // namespace assay
