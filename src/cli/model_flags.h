#pragma once
// The flags that all commands with a model share, and how they become DeciderOptions.

#include <cstdint>
#include <string>
#include <vector>

#include "assay/options.h"
#include "cli/option_spec.h"

namespace assay::cli {

struct ModelFlags {
  std::string model;  // the GGUF's path
  std::int32_t threads = ModelOptions{}.threads;
  std::int32_t context_tokens = ModelOptions{}.context_tokens;
  std::int32_t batch_tokens = ModelOptions{}.batch_tokens;
  std::int32_t sequences_max = ModelOptions{}.sequences_max;
  std::int32_t gpu_layers = ModelOptions{}.gpu_layers;
  bool flash_attention = ModelOptions{}.flash_attention;
  std::int32_t cache_tokens = ModelOptions{}.cache_tokens;
  bool option_head = ModelOptions{}.option_head;
  std::string packing = "auto";
  std::string pack_cache;  // a folder
  bool no_extra_buffers = false;
  bool no_mmap = false;
  bool no_memory_check = false;
  std::string chat_template;  // a file
  std::string readout = "auto";
  std::string mmproj;  // a projector; `assay serve` has it from llama-server's flags, others add mmproj_option()
  std::int32_t image_tokens_min = ModelOptions{}.image_tokens_min;  // llama-server's flags
  std::int32_t image_tokens_max = ModelOptions{}.image_tokens_max;
  std::string snapshots;  // a folder; commands that take it add snapshots_option()
  std::string lessons;    // a folder; commands that take it add lessons_option()
  std::string special_tokens = "literal";
  bool no_readout_check = false;
  bool no_start_check = false;
  std::string check_dir;
  std::uint64_t options_max = RequestLimits{}.options_max;
  std::uint64_t queue_jobs_max = DeciderOptions{}.queue_jobs_max;
  std::string log_level;
};

// The specs of all of the above but `snapshots`. `flags` must outlive them.
std::vector<OptionSpec> model_options(ModelFlags& flags);
// --snapshots. `flags` must outlive it.
OptionSpec snapshots_option(ModelFlags& flags);
// --mmproj. `flags` must outlive it.
OptionSpec mmproj_option(ModelFlags& flags);
// --lessons. `flags` must outlive it.
OptionSpec lessons_option(ModelFlags& flags);

// Reads the chat template's file. Errors: kInvalidArgument (no model named), kNotFound (no such file).
Result<DeciderOptions> decider_options(const ModelFlags& flags);

}  // namespace assay::cli
