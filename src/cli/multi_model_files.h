#pragma once
// Which files SageMaker means by the url of a model (server/sagemaker/multi_model.h).

#include <string>

#include "assay/error.h"
#include "server/sagemaker/multi_model.h"

namespace assay::cli {

// `url`: a GGUF's path, or a folder, in which the model is found as in a model folder (model_discovery.h, kFirst);
// its warnings are logged. Errors: kNotFound, kInvalidArgument, naming "url".
Result<server::ModelFiles> find_multi_model_files(const std::string& url);

}  // namespace assay::cli
