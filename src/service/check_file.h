#pragma once
// What was found out about a model once and need not be found out again: a small JSON file beside the model (or in a
// cache folder), valid for one file content, one version of Assay and one set of settings.

#include <optional>
#include <string>
#include <vector>

#include "assay/decider.h"
#include "engine/decoder.h"

namespace assay::service {

struct CheckRecord {
  std::string model_sha256;
  std::uint64_t model_bytes = 0;
  std::int64_t model_modified_ns = 0;
  std::string settings;  // version, prompts, template: anything that would change the results; compared as a whole
  std::string start_check_machine;  // the build and CPU on which the start check passed; empty: not yet
  bool extra_buffers = true;        // what the start check found to work
  std::string bits_key;             // machine, build and settings for which the bit check was made; empty: not yet
  bool bits_same = false;
  engine::BitRules rules;  // under which they are
  std::string bits_note;
  bool option_head = false;  // single logits can be computed beside the model's head (engine/llama_option_head.h)
  bool has_readout = false;
  Readout readout = Readout::kLetters;
  std::vector<CheckScore> scores;
};

// The places where a record of this model may lie, best first: `check_dir` alone when given, else beside the model,
// then the user's cache.
std::vector<std::string> check_file_paths(const std::string& model_path, const std::string& check_dir);

// The first readable record that belongs to this file's content and these settings. A record whose size and time still
// fit is trusted without hashing the model again; otherwise the model is hashed and compared.
std::optional<CheckRecord> read_check_file(const std::string& model_path, const std::string& check_dir,
                                           const std::string& settings);

// Writes the record to the first place that can be written, whole or not at all; returns the path, or nothing when no
// place can.
std::optional<std::string> write_check_file(const std::string& model_path, const std::string& check_dir,
                                            const CheckRecord& record);

// A new record for this file as it is now (hashes it).
CheckRecord new_check_record(const std::string& model_path, const std::string& settings);

}  // namespace assay::service
