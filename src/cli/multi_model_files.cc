#include "cli/multi_model_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "cli/model_discovery.h"

namespace assay::cli {

Result<server::ModelFiles> find_multi_model_files(const std::string& url) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(url, unknown)) return server::ModelFiles{.model = url};
  if (!std::filesystem::is_directory(url, unknown)) {
    return Error{ErrorCode::kNotFound, "url: there is nothing at " + url, "url"};
  }
  Result<ModelChoice> choice = choose_model(list_model_files(url), ModelRule::kFirst);
  if (!choice.ok()) {
    Error error = choice.error();
    error.message = "url: " + url + ": " + error.message;
    error.field = "url";
    return error;
  }
  for (const std::string& warning : choice->warnings) log_line(LogLevel::kWarn, warning);
  const std::string folder = url + (url.ends_with('/') ? "" : "/");
  return server::ModelFiles{.model = folder + choice->model,
                            .mmproj = choice->mmproj.empty() ? "" : folder + choice->mmproj};
}

}  // namespace assay::cli
