#include "server/llama/wake_check.h"

#include <fstream>
#include <system_error>
#include <utility>

namespace assay::server {
namespace {

constexpr const char* kFirstShard = "-00001-of-";

Error not_now(const std::string& why) {
  return {ErrorCode::kUnavailable, "the model sleeps and cannot be woken: " + why, "model"};
}

// The files that belong to the first: the shards behind it, or none.
std::vector<std::string> shards_behind(const std::string& path) {
  std::vector<std::string> out;
  const std::size_t at = path.rfind(kFirstShard);
  if (at == std::string::npos) return out;
  for (int shard = 2;; ++shard) {
    std::string name = path;
    name.replace(at + 1, 5, std::to_string(100'000 + shard).substr(1));
    std::error_code unknown;
    if (shard > 99'999 || !std::filesystem::exists(name, unknown)) return out;
    out.push_back(std::move(name));
  }
}

}  // namespace

WakeCheck::WakeCheck(const std::vector<std::string>& files, std::uint64_t needed_bytes,
                     std::function<std::uint64_t()> free_bytes)
    : needed_bytes_(needed_bytes), free_bytes_(std::move(free_bytes)) {
  std::vector<std::string> all;
  for (const std::string& file : files) {
    if (file.empty()) continue;
    all.push_back(file);
    for (std::string& shard : shards_behind(file)) all.push_back(std::move(shard));
  }
  for (std::string& path : all) {
    std::error_code unknown;
    File file{.path = std::move(path), .bytes = 0, .written = {}};
    file.bytes = std::filesystem::file_size(file.path, unknown);
    file.written = std::filesystem::last_write_time(file.path, unknown);
    files_.push_back(std::move(file));
  }
}

Status WakeCheck::check() const {
  for (const File& file : files_) {
    std::error_code failure;
    const std::uint64_t bytes = std::filesystem::file_size(file.path, failure);
    if (failure || !std::ifstream(file.path)) return not_now("its file cannot be read any more");
    const auto written = std::filesystem::last_write_time(file.path, failure);
    if (failure || bytes != file.bytes || written != file.written) return not_now("its file is another one now");
  }
  const std::uint64_t free_bytes = free_bytes_ ? free_bytes_() : needed_bytes_;
  if (free_bytes >= needed_bytes_) return {};
  return not_now("it needs about " + std::to_string(needed_bytes_ >> 20) + " MiB, and " +
                 std::to_string(free_bytes >> 20) + " MiB are free");
}

}  // namespace assay::server
