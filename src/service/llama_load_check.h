#pragma once
// What is found out about a model when it is loaded for the first time, kept beside it for the next time.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/options.h"
#include "engine/llama_model.h"
#include "service/check_file.h"

namespace assay::service {

// What is kept of earlier checks of a file, and what must be the same for it to count.
struct LoadRecord {
  std::string chat_template;  // that prompts are made with
  std::optional<CheckRecord> stored;
  CheckRecord now;
};

LoadRecord read_record(const DeciderOptions& options, const engine::ModelFacts& facts);
// Writes what is new in it; says so in the log where there is no place for it.
void keep_record(const DeciderOptions& options, const LoadRecord& record);

// Loads, and loads again without packed weights when a trial decode does not go well with them: then `options` say so,
// too. Errors: those of LlamaModel::load(), and kUnsupportedModel where no decode survives.
Result<std::unique_ptr<engine::LlamaModel>> load_checked(DeciderOptions& options, CheckRecord& record,
                                                         std::vector<std::string>& warnings);

}  // namespace assay::service
