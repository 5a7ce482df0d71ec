#pragma once
// Which of the files in a model folder is the model: /opt/ml/model as SageMaker fills it.
//
//   const Result<ModelChoice> choice = choose_model(list_model_files("/opt/ml/model"), ModelRule::kFirst);
//   if (choice.ok()) path = "/opt/ml/model/" + choice->model;

#include <string>
#include <vector>

#include "assay/error.h"

namespace assay::cli {

// What to do with several models in one folder.
enum class ModelRule {
  kFirst,    // take the first in code-point order and say so, as the llama.cpp container does
  kOnlyOne,  // refuse, as SemIf's image does
};

struct ModelChoice {
  std::string model;                  // as it was listed; of a split model the first shard
  std::string mmproj;                 // a projector for images that lies beside it; empty: none
  std::vector<std::string> warnings;  // one sentence each
};

// `files` are paths below the folder with '/' between their parts, in any order: the answer does not depend on it.
//
// Models are files whose name ends in ".gguf" (in lower case: ".GGUF" is passed over with a warning), in the folder
// itself or in a folder directly in it; what lies deeper is passed over. Those of the folder itself come first, then
// those of the folders in it; each in code-point order. Never a model: a name with "mmproj" in it. Only where there is
// nothing else: adapters, drafts and bare vocabularies, by their names ("lora", "adapter", "draft", "ggml-vocab").
// NAME-00001-of-0000N.gguf with its siblings is one model. Errors: kNotFound when there is no model, kInvalidArgument
// when a shard of the model is missing (the message names the first one) or when kOnlyOne finds several.
Result<ModelChoice> choose_model(std::vector<std::string> files, ModelRule rule);

// The regular files (links to them too) of the folder and of the folders directly in it, as choose_model() wants them.
// What cannot be read is left out; a folder that is not there has no files.
std::vector<std::string> list_model_files(const std::string& folder);

}  // namespace assay::cli
