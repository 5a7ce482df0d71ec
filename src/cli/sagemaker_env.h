#pragma once
// What the environment of a SageMaker container asks for, in terms of `assay serve`. Variables of three images are
// understood: the llama.cpp container's (SM_LLAMA_CPP_CTX_SIZE=4096 is llama-server's --ctx-size 4096), Hugging Face's
// (SM_LLAMACPP_...) and SemIf's (SEMIF_...), beside SageMaker's own. docs/sagemaker.md has the table.
//
//   const Result<SageMakerSettings> settings = translate_environment(entries, UnknownVariables::kWarn, llama_flags);

#include <string>
#include <vector>

#include "assay/error.h"
#include "cli/model_discovery.h"
#include "cli/option_spec.h"

namespace assay::cli {

struct EnvironmentEntry {
  std::string name;
  std::string value;
};

// A flag of `assay serve` with its values, and the variable that asked for it.
struct ServeSetting {
  std::string flag;  // without dashes
  std::vector<std::string> values;
  std::string source;
};

enum class UnknownVariables { kWarn, kRefuse };

struct SageMakerSettings {
  std::string model_folder = "/opt/ml/model";  // looked through where no model is named
  ModelRule model_rule = ModelRule::kFirst;
  std::vector<ServeSetting> settings;        // to be applied in this order; a later one of the same flag wins
  std::vector<std::string> llama_arguments;  // llama-server's, that `assay serve` has no flag of its own for
  // llama-server's, of the model to be fetched where the folder has none, and the variable that asks for a model in
  // llama-server's words: one of these, or a LLAMA_ARG_... one, which llama-server reads itself; empty: none does.
  std::vector<std::string> download_arguments;
  std::string model_asked_by;
  bool multi_model = false;           // SageMaker will say which models to load
  std::string gpu_asked_by;           // the variable that asks for layers on a GPU; empty: none does
  std::vector<std::string> warnings;  // one for each variable that is not followed; one sentence
};

// Pure. `llama_flags`: those that llama-server has. The order of the entries changes nothing, unless a name comes
// twice: then the first counts, as in getenv().
//
// Of a flag of llama-server: "true" in any case, or an empty value, is the bare flag; "false" leaves it out; anything
// else is its value, whole, with its blanks, line breaks and equals signs. Where a bare flag would swallow what follows
// it, it is not given: on/off flags say on and off, and others are left out with a warning. Variables that would make
// the server unreachable (a host, an API key that no client of SageMaker can send) are left out with a warning, too.
// The port is SAGEMAKER_BIND_TO_PORT's, else SM_LLAMA_CPP_PORT's, LLAMACPP_SAGEMAKER_PORT's,
// SEMIF_PORT's, 8080.
//
// Errors: kInvalidArgument, naming the variable: a number that is none or out of its range, a value for a switch, and
// with kRefuse a variable of these images that nobody knows. Values of our own flags are checked when they are applied.
Result<SageMakerSettings> translate_environment(const std::vector<EnvironmentEntry>& entries, UnknownVariables unknown,
                                                const std::vector<ForeignFlag>& llama_flags);

}  // namespace assay::cli
