#pragma once
// `assay sagemaker`: `assay serve` as a SageMaker container runs it. An image's ENTRYPOINT is ["assay", "sagemaker"],
// and SageMaker's word `serve` comes behind it; a plain `assay serve` knows nothing of what stands here.

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/sagemaker_env.h"
#include "cli/serve_flags.h"
#include "cli/streams.h"

namespace assay::cli {

struct SageMakerFlags {
  // With what a container wants where nobody says anything else: all addresses, a deadline below SageMaker's 60 s, a
  // line of JSON for each request, records in /tmp.
  SageMakerFlags();

  ServeFlags serve;
  std::vector<std::string> words;  // "serve", and whatever else was given
  std::string unknown_variables = "warn";
  bool gpu_fallback = false;
  SageMakerSettings settings;  // what the environment asked for
};

// The flags of serve but its argument, and those above. `flags` must outlive the spec.
CommandSpec sagemaker_command(SageMakerFlags& flags);

// Fills `flags` with what the variables of a SageMaker container ask for. Flags, ASSAY_* variables and the config file,
// which are read afterwards, win over them. `arguments` are the program's words, read here for --unknown-variables
// alone. `llama_flags`: those that llama-server has. Errors: kInvalidArgument, naming the variable.
Status read_sagemaker_environment(SageMakerFlags& flags, const std::vector<std::string>& arguments,
                                  const ReadEnvironment& environment, const std::vector<EnvironmentEntry>& entries,
                                  const std::vector<ForeignFlag>& llama_flags);

// What to run `assay serve` with: the model is found, and what is not followed has been logged. Errors:
// kInvalidArgument where a variable asks for layers on a GPU and there is none (--gpu-fallback makes a warning of it),
// or as choose_model(); kNotFound without a model.
Result<ServeFlags> serve_flags_of(const SageMakerFlags& flags, bool has_gpu);

// Opens as `open` does, then asks the model one question: what cannot decide is an error, not a server.
// kUnsupportedModel.
OpenDecider opened_warm(OpenDecider open);

}  // namespace assay::cli
