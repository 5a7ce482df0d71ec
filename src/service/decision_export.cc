#include <filesystem>
#include <system_error>

#include "assay/lesson_desk.h"
#include "store/decision_store.h"

namespace assay {

Status export_decisions(const std::string& from, const ExportQuery& query,
                        const std::function<bool(std::string_view line)>& write) {
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(from, unknown);
  const std::string path = is_folder ? (std::filesystem::path(from) / kDecisionsFile).string() : from;
  return store::DecisionStore::export_file(path, query, write);
}

}  // namespace assay
